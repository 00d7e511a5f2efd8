import { useLayoutEffect, useMemo, useRef } from 'preact/hooks'
import { useDark } from '../colours.js'
import { useResource, useSize } from '../hooks.js'
import { html } from '../html.js'
import { texts } from '../texts.js'
import { drawLand, drawLines, drawPoints, paletteOf } from './draw.js'
import { readPlaces } from './network.js'
import { useView } from './pan-zoom.js'
import { d3, readLand } from './projection.js'

/** @typedef {import('./network.js').Pair} Pair */

/** @type {readonly Pair[]} */
const NONE = []

/**
 * The world with routes. The routes that do not move are drawn once for each position of the map; while it moves, their
 * picture moves.
 * @param {{ steady?: readonly Pair[], added?: readonly Pair[], removed?: readonly Pair[], focus?: string | undefined,
 *   onPlace?: (id: string | undefined) => void, kind: 'big' | 'middle', label: string }} props
 */
export function NetworkMap({
  steady = NONE,
  added = NONE,
  removed = NONE,
  focus,
  onPlace,
  kind,
  label,
}) {
  const [box, size] = useSize()
  const known = useResource(() => Promise.all([readPlaces(), readLand()]), [])
  const { view, handlers, moving, wasDragged } = useView(size)
  const lines = useLines(known.data?.[0], { steady, added, removed, focus })
  const { base, top, shift } = useDrawing(lines, { size, view, moving, land: known.data?.[1] })
  const choose = (/** @type {number} */ x, /** @type {number} */ y, /** @type {number} */ within) =>
    onPlace?.(nearestPlace(lines.places, projectionFor(size, view), { x, y, within }))
  const click = (/** @type {any} */ event) => {
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
  return html`<div class="map map-${kind}" ref=${box} ...${handlers} onKeyDown=${press} onClick=${click} role="application" aria-label=${label}
    aria-describedby=${onPlace === undefined ? null : 'map-help'}>
    <canvas ref=${base} style=${{ transform: shift }}></canvas>
    <canvas ref=${top} style=${{ transform: shift }}></canvas>
    ${known.error && html`<p class="notice bad" role="alert">${texts.map.failed}</p>`}
  </div>`
}

/**
 * Draws the routes that stay on one canvas and those that change on another. While the map moves, both are shifted.
 * @param {ReturnType<typeof useLines>} lines
 * @param {{ size: { width: number, height: number }, view: { x: number, y: number, k: number }, moving: boolean, land: any }} map
 */
function useDrawing(lines, { size, view, moving, land }) {
  const base = useRef(/** @type {HTMLCanvasElement | null} */ (null))
  const top = useRef(/** @type {HTMLCanvasElement | null} */ (null))
  const drawn = useRef(view)
  const dark = useDark()
  // Drawn before the browser paints: otherwise the old picture would show unshifted for a frame.
  const ready = !moving && land !== undefined && size.width > 0
  useLayoutEffect(() => {
    if (!ready) return
    const { projection, palette, context } = prepare(base.current, size, view)
    drawLand(context, projection, { land, palette })
    context.globalAlpha = alphaFor(lines.steady.length)
    drawLines(context, projection, { lines: lines.steady, colour: palette.live, width: 0.8 })
    context.globalAlpha = 1
    drawPoints(context, projection, { points: lines.places, colour: palette.place, radius: 1.4 })
    drawn.current = view
  }, [ready, view, size, lines.steady, lines.places, land, dark])
  useLayoutEffect(() => {
    if (!ready) return
    const { projection, palette, context } = prepare(top.current, size, view)
    const { removed, added, focused, focusPlaces } = lines
    const dash = [4, 3]
    const width = added.length + removed.length > MANY ? 0.8 : 1.6
    drawLines(context, projection, { lines: removed, colour: palette.removed, width, dash })
    drawLines(context, projection, { lines: added, colour: palette.added, width })
    drawLines(context, projection, { lines: focused, colour: palette.focus, width: 1.4 })
    drawPoints(context, projection, { points: focusPlaces, colour: palette.focus, radius: 4 })
  }, [ready, view, size, lines, land, dark])
  return { base, top, shift: moving ? shiftOf(drawn.current, view) : 'none' }
}

/** More lines than this that changed are drawn thinner. */
const MANY = 300

/** Many thin lines on top of each other need more transparency. @param {number} lines */
function alphaFor(lines) {
  return Math.max(0.06, Math.min(0.5, 400 / Math.max(1, lines)))
}

/**
 * @param {Map<string, any> | undefined} places
 * @param {{ steady: readonly Pair[], added: readonly Pair[], removed: readonly Pair[], focus: string | undefined }} pairs
 */
function useLines(places, { steady, added, removed, focus }) {
  return useMemo(() => {
    const located = (/** @type {string} */ id) => {
      const place = places?.get(id)
      return place?.latitude == null ? undefined : place
    }
    const linesOf = (/** @type {readonly Pair[]} */ pairs) =>
      pairs.flatMap(([a, b]) => {
        const from = located(a)
        const to = located(b)
        return from && to ? [{ from, to }] : []
      })
    const all = [...steady, ...added]
    const used = new Set(all.flat())
    return {
      steady: linesOf(steady),
      added: linesOf(added),
      removed: linesOf(removed),
      focused: focus === undefined ? [] : linesOf(all.filter((pair) => pair.includes(focus))),
      focusPlaces: focus === undefined ? [] : [located(focus)].filter(Boolean),
      places: [...used].map(located).filter(Boolean),
    }
  }, [places, steady, added, removed, focus])
}

/** The map is filled from the north of Greenland to Cape Horn. */
const INHABITED = /** @type {import('d3-geo').GeoPermissibleObjects} */ ({
  type: 'MultiPoint',
  coordinates: [
    [-180, 0],
    [180, 0],
    [0, 80],
    [0, -57],
  ],
})

/** @param {{ width: number, height: number }} size @param {{ x: number, y: number, k: number }} view */
export function projectionFor({ width, height }, { x, y, k }) {
  const projection = d3.geoNaturalEarth1().fitExtent(
    [
      [8, 8],
      [width - 8, height - 8],
    ],
    INHABITED,
  )
  const [cx = 0, cy = 0] = projection.translate()
  return projection.scale(projection.scale() * k).translate([cx * k + x, cy * k + y])
}

/** @param {HTMLCanvasElement | null} canvas @param {{ width: number, height: number }} size @param {{ x: number, y: number, k: number }} view */
function prepare(canvas, size, view) {
  const context = canvas?.getContext('2d')
  if (!canvas || !context) throw new Error('the map has no canvas')
  const ratio = Math.min(2, devicePixelRatio)
  canvas.width = size.width * ratio
  canvas.height = size.height * ratio
  context.setTransform(ratio, 0, 0, ratio, 0, 0)
  return { context, projection: projectionFor(size, view), palette: paletteOf(canvas) }
}

/**
 * How the picture of one view must move to look like another.
 * @param {{ x: number, y: number, k: number }} from
 * @param {{ x: number, y: number, k: number }} to
 */
function shiftOf(from, to) {
  const scale = to.k / from.k
  return `translate(${to.x - from.x * scale}px, ${to.y - from.y * scale}px) scale(${scale})`
}

const NEAR_PX = 14

/**
 * The place with routes that is nearest to a point of the map.
 * @param {readonly any[]} places
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
