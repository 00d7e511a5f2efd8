import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { useResource, useSize } from '../hooks.js'
import { html } from '../html.js'
import { drawLand, drawLines, drawPoints, paletteOf } from './draw.js'
import { readPlaces } from './network.js'
import { useView } from './pan-zoom.js'
import { d3, readLand } from './projection.js'

/** @typedef {import('./network.js').Pair} Pair */

/**
 * The world with routes. The routes that do not move are drawn once for each position of the map; while it moves, their
 * picture moves.
 * @param {{ steady?: readonly Pair[], added?: readonly Pair[], removed?: readonly Pair[], focus?: string | undefined,
 *   onPlace?: (id: string | undefined) => void, kind: 'big' | 'mini', label: string }} props
 */
export function NetworkMap({ steady = [], added = [], removed = [], focus, onPlace, kind, label }) {
  const [box, size] = useSize()
  const known = useResource(() => Promise.all([readPlaces(), readLand()]), [])
  const { view, handlers, moving } = useView(size)
  const lines = useLines(known.data?.[0], { steady, added, removed, focus })
  const base = useRef(/** @type {HTMLCanvasElement | null} */ (null))
  const top = useRef(/** @type {HTMLCanvasElement | null} */ (null))
  const drawn = useRef(view)
  const scheme = useScheme()
  useEffect(() => {
    if (moving || known.data === undefined || size.width === 0) return
    const { projection, palette, context } = prepare(base.current, size, view)
    drawLand(context, projection, { land: known.data[1], palette })
    context.globalAlpha = alphaFor(lines.steady.length)
    drawLines(context, projection, { lines: lines.steady, colour: palette.live, width: 0.8 })
    context.globalAlpha = 1
    drawPoints(context, projection, { points: lines.places, colour: palette.place, radius: 1.4 })
    drawn.current = view
  }, [view, moving, size, lines.steady, known.data, scheme])
  useEffect(() => {
    if (moving || known.data === undefined || size.width === 0) return
    const { projection, palette, context } = prepare(top.current, size, view)
    drawLines(context, projection, {
      lines: lines.removed,
      colour: palette.removed,
      width: 1.6,
      dash: [4, 3],
    })
    drawLines(context, projection, { lines: lines.added, colour: palette.added, width: 1.6 })
    drawLines(context, projection, { lines: lines.focused, colour: palette.focus, width: 1.4 })
    drawPoints(context, projection, { points: lines.focusPlaces, colour: palette.focus, radius: 4 })
  }, [view, moving, size, lines, known.data, scheme])
  const shift = moving ? shiftOf(drawn.current, view, size) : 'none'
  const click = (/** @type {MouseEvent} */ event) => {
    if (onPlace === undefined || known.data === undefined) return
    onPlace(nearestPlace(known.data[0], projectionFor(size, view), event))
  }
  return html`<div class="map map-${kind}" ref=${box} ...${handlers} onClick=${click} role="img" aria-label=${label}>
    <canvas ref=${base} style=${{ transform: shift }}></canvas>
    <canvas ref=${top} style=${{ transform: shift }}></canvas>
    ${known.error && html`<p class="notice bad" role="alert">The map could not be loaded.</p>`}
  </div>`
}

/** Many thin lines on top of each other need more transparency. @param {number} lines */
function alphaFor(lines) {
  return Math.max(0.06, Math.min(0.5, 400 / Math.max(1, lines)))
}

function useScheme() {
  const [dark, setDark] = useState(matchMedia('(prefers-color-scheme: dark)').matches)
  useEffect(() => {
    const query = matchMedia('(prefers-color-scheme: dark)')
    const update = () => setDark(query.matches)
    query.addEventListener('change', update)
    return () => query.removeEventListener('change', update)
  }, [])
  return dark
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

/** @param {{ width: number, height: number }} size @param {{ x: number, y: number, k: number }} view */
export function projectionFor({ width, height }, { x, y, k }) {
  const projection = d3.geoNaturalEarth1().fitExtent(
    [
      [8, 8],
      [width - 8, height - 8],
    ],
    { type: 'Sphere' },
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
 * @param {{ width: number, height: number }} _size
 */
function shiftOf(from, to, _size) {
  const scale = to.k / from.k
  return `translate(${to.x - from.x * scale}px, ${to.y - from.y * scale}px) scale(${scale})`
}

const NEAR_PX = 14

/** @param {Map<string, any>} places @param {import('d3-geo').GeoProjection} projection @param {MouseEvent} event */
function nearestPlace(places, projection, event) {
  const box = /** @type {HTMLElement} */ (event.currentTarget).getBoundingClientRect()
  const x = event.clientX - box.left
  const y = event.clientY - box.top
  let found
  let best = NEAR_PX
  for (const { id, latitude, longitude } of places.values()) {
    const at = latitude === null ? null : projection([longitude, latitude])
    const distance = at ? Math.hypot(at[0] - x, at[1] - y) : best
    if (distance < best) {
      best = distance
      found = id
    }
  }
  return found
}
