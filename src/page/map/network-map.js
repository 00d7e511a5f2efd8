import { useEffect } from 'preact/hooks'
import { useResource, useSize } from '../hooks.js'
import { html } from '../html.js'
import { texts } from '../texts.js'
import { useDrawing } from './drawing.js'
import { useLines } from './lines.js'
import { readPlaces } from './network.js'
import { useView } from './pan-zoom.js'
import { projectionFor, readLand } from './projection.js'

/** @typedef {import('./network.js').Pair} Pair */

/** @type {readonly Pair[]} */
const NONE = []

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
  const known = useResource(() => Promise.all([readPlaces(), readLand()]), [])
  const { view, handlers, buttons, moving, wasDragged } = useView(size)
  const lines = useLines(known.data?.[0], { steady, added, removed, focus })
  const { base, top, shift } = useDrawing(lines, { size, view, moving, land: known.data?.[1] })
  const [inFocus] = lines.focusPlaces
  useEffect(() => {
    if (!isShown || inFocus === undefined || size.width === 0) return
    const { at, k } = closeUpOf(inFocus, lines.focused, size)
    buttons.showPoint(at[0], at[1], k)
  }, [isShown, inFocus, size.width])
  const choose = (
    /** @type {number} */ x,
    /** @type {number} */ y,
    /** @type {number} */ within,
  ) => {
    const places = [...lines.places, ...lines.addedPlaces]
    onPlace?.(nearestPlace(places, projectionFor(size, view), { x, y, within }))
  }
  const click = (/** @type {MouseEvent & { currentTarget: Element }} */ event) => {
    if (wasDragged()) return
    const corner = event.currentTarget.getBoundingClientRect()
    choose(event.clientX - corner.left, event.clientY - corner.top, NEAR_PX)
  }
  const press = (/** @type {KeyboardEvent} */ event) => {
    if (event.key === 'Enter') choose(size.width / 2, size.height / 2, Number.POSITIVE_INFINITY)
    else if (event.key === 'Escape') onPlace?.(undefined)
    else handlers.onKeyDown(event)
  }
  // With this role, a screen reader passes the keys on to the map.
  return html`<div><div class="map map-${kind}" ref=${box} ...${handlers} onKeyDown=${press} onClick=${click} role="application" aria-label=${label}
    aria-describedby=${onPlace === undefined ? null : 'map-help'}>
    <canvas ref=${base} style=${{ transform: shift }}></canvas>
    <canvas ref=${top} style=${{ transform: shift }}></canvas>
    ${known.error && html`<p class="notice bad" role="alert">${texts.map.failed}</p>`}
  </div>
  <div class="map-buttons">
    <button type="button" aria-label=${texts.map.zoomIn} onClick=${buttons.zoomIn}>+</button>
    <button type="button" aria-label=${texts.map.zoomOut} onClick=${buttons.zoomOut} disabled=${view.k === 1}>−</button>
    <button type="button" aria-label=${texts.map.showAll} onClick=${buttons.showAll} disabled=${view.k === 1}>⤢</button>
  </div></div>`
}

/** A hub has routes to all of the world, and a small place to its neighbour. */
const CLOSEST = 10
const FARTHEST = 2.5

/**
 * A point of the whole map, and an enlargement that shows most of a place's routes around it.
 * @param {import('./network.js').MapPlace} place
 * @param {readonly import('./lines.js').Line[]} routes
 * @param {{ width: number, height: number }} size
 * @returns {{ at: [number, number], k: number }}
 */
function closeUpOf(place, routes, size) {
  const projection = projectionFor(size)
  const pointOf = (/** @type {import('./network.js').MapPlace} */ { longitude, latitude }) =>
    projection([longitude, latitude]) ?? /** @type {[number, number]} */ ([0, 0])
  const at = pointOf(place)
  const lengths = routes
    .map(({ from, to }) => pointOf(from === place ? to : from))
    .map(([x, y]) => Math.hypot(x - at[0], y - at[1]))
    .sort((a, b) => a - b)
  const most = lengths[Math.floor(0.8 * (lengths.length - 1))] ?? 0
  const k = Math.min(size.width, size.height) / 2 / Math.max(1, most)
  return { at, k: Math.min(CLOSEST, Math.max(FARTHEST, k)) }
}

const NEAR_PX = 14

/**
 * The place with routes that is nearest to a point of the map.
 * @param {readonly import('./network.js').MapPlace[]} places
 * @param {import('d3-geo').GeoProjection} projection
 * @param {{ x: number, y: number, within: number }} point
 * @returns {string | undefined} its id
 */
function nearestPlace(places, projection, { x, y, within }) {
  let found
  let best = within
  for (const { id, latitude, longitude } of places) {
    const at = projection([longitude, latitude])
    const distance = at ? Math.hypot(at[0] - x, at[1] - y) : best
    if (distance < best) {
      best = distance
      found = id
    }
  }
  return found
}
