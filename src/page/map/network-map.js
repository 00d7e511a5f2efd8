import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { routeText } from '../describe.js'
import { useAnswer, useResource, useSize } from '../hooks.js'
import { html, loaded } from '../parts.js'
import { texts } from '../texts.js'
import { dayText } from '../times.js'
import { useDrawing, worldOf } from './drawing.js'
import { nameOf, positionOf, readPlaces } from './network.js'
import { useView } from './pan-zoom.js'
import { d3, readLand } from './projection.js'

const t = texts.map

/**
 * The routes of a map with the places at their ends. Routes between places whose position is not known are left out.
 * @typedef {import('./network.js').Pair} Pair
 * @typedef {import('./network.js').MapPlace} MapPlace
 * @typedef {{ from: MapPlace, to: MapPlace }} Line
 * @typedef {{ steady: Line[], added: Line[], removed: Line[], focused: Line[], focusPlaces: MapPlace[], places: MapPlace[],
 *   addedPlaces: MapPlace[], labels: { iata: string, at: [number, number] }[] }} Lines
 * @typedef {{ x: number, y: number, within: number }} Target a point of the map in pixels, and how far a place may be from it
 */

/** @type {readonly Pair[]} */
const NONE = []
const NEAR_PX = 14
/** The way over a point near a route is this much longer at most, in radians. This is computed fast for many routes. */
const MOST_DETOUR = 0.06
/** A pointer that rests this long asks what it points at. */
const HOVER_MS = 80

/**
 * The world with routes. They are projected once, and drawn again when the map has come to rest; while it moves, their
 * picture moves. `isShown`: whether the map moves to the place in focus.
 * @param {{ steady?: readonly Pair[], added?: readonly Pair[], removed?: readonly Pair[], focus?: string | undefined, isShown?: boolean,
 *   onPlace?: (id: string | undefined) => void, kind: 'big' | 'middle', label: string }} props
 */
export function NetworkMap({
  steady = NONE,
  added = NONE,
  removed = NONE,
  focus,
  isShown = false,
  onPlace,
  kind,
  label,
}) {
  const [box, size] = useSize()
  const { data, error } = useResource(() => Promise.all([readPlaces(), readLand()]), [])
  const { view, handlers, buttons, moving, wasDragged } = useView(size)
  const all = useLines(data?.[0], { steady, added, removed, focus })
  const world = useMemo(
    () => (data && size.width > 0 ? worldOf(size, data[1]) : undefined),
    [size, data],
  )
  // A step is an enlargement by the root of two.
  const step = Math.floor(2 * Math.log2(view.k))
  const few = useMemo(
    () => world && thinned(all.steady, world, 2 ** (step / 2)),
    [all.steady, world, step],
  )
  const shown = useMemo(() => ({ ...all, ...few }), [all, few])
  const { lines, found, point, leave, placeAt } = usePointing(shown, { world, view, moving })
  const { base, top, shift } = useDrawing(lines, { size, view, moving, world })
  const everywhere = [...all.steady, ...all.added, ...all.removed].flatMap(endsOf)
  const show = (/** @type {MapPlace[]} */ places) =>
    world && places.length > 0 && buttons.show(viewOf(places, world.projection, size))
  useEffect(() => void show(everywhere), [world, everywhere.length > 0])
  const [inFocus] = all.focusPlaces
  useEffect(() => {
    if (isShown) show(all.focused.flatMap(endsOf))
  }, [isShown, inFocus, world])
  const targetOf = (/** @type {MouseEvent & { currentTarget: Element }} */ event) => {
    const corner = event.currentTarget.getBoundingClientRect()
    return { x: event.clientX - corner.left, y: event.clientY - corner.top, within: NEAR_PX }
  }
  const choose = (/** @type {Target} */ target) => onPlace?.(placeAt(target))
  const move = (/** @type {PointerEvent & { currentTarget: Element }} */ event) => {
    handlers.onPointerMove(event)
    point(targetOf(event))
  }
  const press = (/** @type {KeyboardEvent} */ event) => {
    const middle = { x: size.width / 2, y: size.height / 2, within: Number.POSITIVE_INFINITY }
    point(middle)
    if (event.key === 'Enter') choose(middle)
    else if (event.key === 'Escape') onPlace?.(undefined)
    else handlers.onKeyDown(event)
  }
  // With this role, a screen reader passes the keys on to the map.
  return html`<div><div class="map map-${kind}" ref=${box} ...${handlers} onPointerMove=${move} onPointerLeave=${leave} onBlur=${leave} onKeyDown=${press}
    onClick=${(/** @type {MouseEvent & { currentTarget: Element }} */ event) => wasDragged() || choose(targetOf(event))} role="application" aria-label=${label}
    aria-describedby=${onPlace === undefined ? null : 'map-help'}>
    <canvas ref=${base} style=${{ transform: shift }}></canvas>
    <canvas ref=${top} style=${{ transform: shift }}></canvas>
    ${found && html`<${Hover} found=${found} lines=${all} size=${size} />`}
    ${error && html`<p class="notice bad" role="alert">The map could not be loaded.</p>`}
  </div>
  <div class="map-buttons">
    <button type="button" aria-label="Zoom in" onClick=${buttons.zoomIn}>+</button>
    <button type="button" aria-label="Zoom out" onClick=${buttons.zoomOut} disabled=${view.k === 1}>−</button>
    <button type="button" aria-label="The whole map" onClick=${() => show(everywhere)}>⤢</button>
  </div></div>`
}

/**
 * What the pointer rests on, or what the middle of the map is at while it is moved by keys.
 * @param {Lines} shown
 * @param {{ world: import('./drawing.js').World | undefined, view: import('./drawing.js').View, moving: boolean }} map
 */
function usePointing(shown, { world, view, moving }) {
  const [target, setTarget] = useState(/** @type {Target | undefined} */ (undefined))
  const timer = useRef(0)
  const point = (/** @type {Target | undefined} */ next) => {
    clearTimeout(timer.current)
    timer.current = window.setTimeout(() => setTarget(next), HOVER_MS)
  }
  const at = (/** @type {Target} */ wanted) =>
    world && findAt(shown, world, { target: wanted, view })
  const found = useMemo(
    () => (target && !moving ? { target, ...at(target) } : undefined),
    [target, moving, world, shown, view],
  )
  const line = found?.line
  const lines = useMemo(
    () => (line ? { ...shown, focused: [...shown.focused, line] } : shown),
    [shown, line],
  )
  const placeAt = (/** @type {Target} */ wanted) => at(wanted)?.place?.id
  return { lines, found, point, leave: () => point(undefined), placeAt }
}

/**
 * What a pointer is at, on a card next to it.
 * @param {{ found: { target: Target, place?: MapPlace | undefined, line?: Line | undefined }, lines: Lines, size: { width: number, height: number } }} props
 */
function Hover({ found: { place, line, target }, lines, size: { width, height } }) {
  const back = (/** @type {boolean} */ isFar) => (isFar ? 'calc(-100% - 1.6rem)' : '0')
  const translate = `${back(target.x > width / 2)} ${back(target.y > height / 2)}`
  return (
    (place || line) &&
    html`<div class="hover" role="status" style=${{ left: `${target.x}px`, top: `${target.y}px`, translate }}>
      ${place ? html`<${PlaceCard} place=${place} lines=${lines} />` : html`<${RouteCard} line=${line} />`}
    </div>`
  )
}

/** @param {{ place: MapPlace, lines: Lines }} props */
function PlaceCard({ place, lines }) {
  const of = (/** @type {Line[]} */ some) =>
    some.filter(({ from, to }) => from === place || to === place)
  const partners = new Set(
    of([...lines.steady, ...lines.added]).map(({ from, to }) => (from === place ? to : from)),
  )
  const [added, removed] = [of(lines.added).length, of(lines.removed).length]
  return html`<strong>${nameOf(place)}</strong><p>${place.country}, ${t.connected(partners.size)}</p>
    ${added + removed > 0 && html`<p>${texts.now.routesChanged(texts.count(added, 'route'), String(removed))}</p>`}`
}

/** @param {{ line: Line }} props */
function RouteCard({ line: { from, to } }) {
  const route = useAnswer(
    `/routes/${encodeURIComponent(from.id)}/${encodeURIComponent(to.id)}/history?limit=1000`,
  )
  return html`<strong>${nameOf(from)} → ${nameOf(to)}</strong>
    ${loaded(
      route,
      ({ live, available, items }) => html`
      <p>${routeText(live ? { available } : null)}</p>
      <p>First seen on ${items.slice(-1).map(({ validFrom }) => dayText(new Date(validFrom)))}</p>`,
    )}`
}

/** The most that a map is enlarged by itself, and the room that it leaves around its places. */
const CLOSEST = 10
const MARGIN = 28

/** The view that shows some places. @param {MapPlace[]} places @param {import('d3-geo').GeoProjection} projection @param {{ width: number, height: number }} size */
function viewOf(places, projection, { width, height }) {
  const coordinates = places.map(positionOf)
  const [[left, top], [right, bottom]] = d3
    .geoPath(projection)
    .bounds({ type: 'MultiPoint', coordinates })
  const fitting = Math.min(
    width / (right - left + 2 * MARGIN),
    height / (bottom - top + 2 * MARGIN),
  )
  const k = Math.max(1, Math.min(CLOSEST, fitting))
  return { k, x: (width - (left + right) * k) / 2, y: (height - (top + bottom) * k) / 2 }
}

/**
 * What is at a point of the map: the nearest place, else a route.
 * @param {Lines} lines
 * @param {import('./drawing.js').World} world
 * @param {{ target: Target, view: import('./drawing.js').View }} where
 * @returns {{ place?: MapPlace | undefined, line?: Line | undefined }}
 */
function findAt(lines, world, { target, view }) {
  const [x, y] = [(target.x - view.x) / view.k, (target.y - view.y) / view.k]
  const places = [...lines.places, ...lines.addedPlaces].map((place) => {
    const [left, top] = world.point(place)
    return { place, away: Math.hypot(left - x, top - y) * view.k }
  })
  const near = places.filter(({ away }) => away < target.within).sort((a, b) => a.away - b.away)
  if (near[0]) return { place: near[0].place }
  const context = document.createElement('canvas').getContext('2d')
  if (context === null) return {}
  context.lineWidth = NEAR_PX / 2 / view.k
  const routes = [...lines.focused, ...lines.added, ...lines.removed, ...lines.steady]
  const here = world.projection.invert?.([x, y]) ?? [0, 0]
  const isNear = (/** @type {Line} */ line) => {
    const [from, to] = [positionOf(line.from), positionOf(line.to)]
    const detour = d3.geoDistance(from, here) + d3.geoDistance(here, to) - d3.geoDistance(from, to)
    return detour < MOST_DETOUR && context.isPointInStroke(world.path(line), x, y)
  }
  return { line: routes.find(isNear) }
}

/** The ends of routes within such a square of the screen are not shown apart. */
const CELL_PX = 40
/** More than the squares below each other. */
const ROWS = 10_000
/** The room of a label. */
const LABEL_PX = /** @type {const} */ ([34, 14])

/**
 * The routes that stay, thinned so that they can be seen apart: of those between the same two squares of the screen,
 * the one of the largest hubs is drawn. Labels do not overlap: those of hubs come first.
 * @param {Line[]} steady
 * @param {import('./drawing.js').World} world
 * @param {number} k
 * @returns {Pick<Lines, 'steady' | 'places' | 'labels'>}
 */
function thinned(steady, world, k) {
  /** @type {Map<MapPlace, number>} */
  const sizes = new Map()
  for (const end of steady.flatMap(endsOf)) sizes.set(end, (sizes.get(end) ?? 0) + 1)
  const sizeOf = (/** @type {MapPlace} */ place) => sizes.get(place) ?? 0
  const cellOf = (/** @type {MapPlace} */ place) => {
    const [x, y] = world.point(place)
    return Math.floor((x * k) / CELL_PX) * ROWS + Math.floor((y * k) / CELL_PX)
  }
  /** @type {Map<string, { line: Line, weight: number }>} */
  const best = new Map()
  for (const line of steady) {
    const weight = sizeOf(line.from) + sizeOf(line.to)
    const [a, b] = [cellOf(line.from), cellOf(line.to)]
    const key = `${Math.min(a, b)} ${Math.max(a, b)}`
    if (weight > (best.get(key)?.weight ?? 0)) best.set(key, { line, weight })
  }
  const few = [...best.values()].map(({ line }) => line)
  const places = [...new Set(few.flatMap(endsOf))]
  places.sort((a, b) => sizeOf(b) - sizeOf(a))
  /** @type {Lines['labels']} */
  const labels = []
  for (const place of places) {
    const at = world.point(place)
    const overlaps = (/** @type {Lines['labels'][number]} */ other) =>
      LABEL_PX.every((room, i) => Math.abs((other.at[i] ?? 0) - (at[i] ?? 0)) * k < room)
    if (!labels.some(overlaps)) labels.push({ iata: place.iata, at })
  }
  return { steady: few, places, labels }
}

/**
 * @param {Map<string, import('./network.js').Place> | undefined} places
 * @param {{ steady: readonly Pair[], added: readonly Pair[], removed: readonly Pair[], focus: string | undefined }} pairs
 * @returns {Lines}
 */
function useLines(places, { steady, added, removed, focus }) {
  // The many that stay must not be computed again while the few that change do.
  const still = useMemo(() => linesOf(places, steady), [places, steady])
  return useMemo(() => {
    const more = linesOf(places, added)
    const near = (/** @type {Line} */ { from, to }) => from.id === focus || to.id === focus
    return {
      steady: still,
      places: [],
      labels: [],
      added: more,
      addedPlaces: [...new Set(more.flatMap(endsOf))],
      removed: linesOf(places, removed),
      focused: [...still, ...more].filter(near),
      focusPlaces: [places?.get(focus ?? '')].filter(isLocated),
    }
  }, [still, places, added, removed, focus])
}

/** @param {Line} line */
function endsOf({ from, to }) {
  return [from, to]
}

/** @param {import('./network.js').Place | undefined} place @returns {place is MapPlace} */
function isLocated(place) {
  return place?.latitude != null
}

/** @param {Map<string, import('./network.js').Place> | undefined} places @param {readonly Pair[]} pairs */
function linesOf(places, pairs) {
  return pairs.flatMap(([a, b]) => {
    const [from, to] = [places?.get(a), places?.get(b)]
    return isLocated(from) && isLocated(to) ? [{ from, to }] : []
  })
}
