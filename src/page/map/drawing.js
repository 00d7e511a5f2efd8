import { useLayoutEffect, useMemo, useRef } from 'preact/hooks'
import { colourOf, useDark } from '../colours.js'
import { drawPoints, landPath, pathsOf, strokePaths } from './draw.js'
import { projectionFor } from './projection.js'

/** @typedef {{ x: number, y: number, k: number }} View */
/** @typedef {{ width: number, height: number }} Size */

/** More lines than this that changed are drawn thinner. */
const MANY = 300

/**
 * Draws the routes that stay on one canvas and those that change on another. While the map moves, both are shifted.
 * @param {import('./lines.js').Lines} lines
 * @param {{ size: Size, view: View, moving: boolean, land: import('geojson').MultiPolygon | undefined }} map
 */
export function useDrawing(lines, { size, view, moving, land }) {
  const base = useRef(/** @type {HTMLCanvasElement | null} */ (null))
  const top = useRef(/** @type {HTMLCanvasElement | null} */ (null))
  const drawn = useRef(/** @type {View} */ (view))
  const dark = useDark()
  const world = useMemo(() => worldOf(size, land), [size, land])
  const steady = useMemo(() => world?.paths(lines.steady), [world, lines.steady])
  const places = useMemo(() => world?.points(lines.places), [world, lines.places])
  // Drawn before the browser paints: otherwise the old picture would show unshifted for a frame.
  const ready = !moving && world !== undefined
  useLayoutEffect(() => {
    if (!ready || !steady || !places) return
    const { context, colour, px } = prepare(base.current, size, view)
    context.fillStyle = colour('land')
    context.fill(world.land)
    strokePaths(context, [world.land], { colour: colour('coast'), width: 0.6 * px })
    const alpha = alphaFor(lines.steady.length)
    strokePaths(context, steady, { colour: colour('live'), width: 0.8 * px, alpha })
    drawPoints(context, places, { colour: colour('place'), radius: 1.4 * px })
    context.font = `600 ${11 * px}px system-ui, sans-serif`
    /** @type {[number, number][]} */
    const labelled = []
    for (const place of hubsOf(lines.steady)) {
      const [at] = world.points([place])
      if (!at || labelled.some(([x, y]) => Math.hypot(x - at[0], y - at[1]) < APART_PX * px))
        continue
      labelled.push(at)
      context.fillText(place.iata, at[0] + 3 * px, at[1] - 3 * px)
    }
    drawn.current = view
  }, [ready, view, size, steady, places, world, dark])
  useLayoutEffect(() => {
    if (!ready) return
    const { context, colour, px } = prepare(top.current, size, view)
    const { removed, added, addedPlaces, focused, focusPlaces } = lines
    const width = (added.length + removed.length > MANY ? 0.8 : 1.6) * px
    const dash = [4 * px, 3 * px]
    strokePaths(context, world.paths(removed), { colour: colour('removed'), width, dash })
    strokePaths(context, world.paths(added), { colour: colour('added'), width })
    drawPoints(context, world.points(addedPlaces), { colour: colour('place'), radius: 1.4 * px })
    strokePaths(context, world.paths(focused), { colour: colour('focus'), width: 1.4 * px })
    drawPoints(context, world.points(focusPlaces), { colour: colour('focus'), radius: 4 * px })
  }, [ready, view, size, lines, world, dark])
  return { base, top, shift: moving ? shiftOf(drawn.current, view) : 'none' }
}

/** Projects once for each size of the map: a view of it is that picture, enlarged and moved. @param {Size} size @param {import('geojson').MultiPolygon | undefined} land */
function worldOf(size, land) {
  if (size.width === 0 || land === undefined) return undefined
  const projection = projectionFor(size)
  return {
    land: landPath(projection, land),
    paths: (/** @type {readonly import('./draw.js').Line[]} */ lines) => pathsOf(projection, lines),
    points: (/** @type {readonly import('./draw.js').Point[]} */ points) =>
      points.flatMap(({ longitude, latitude }) => {
        const at = projection([longitude, latitude])
        return at ? [at] : []
      }),
  }
}

/** Labels that are closer would cover each other. */
const APART_PX = 34

/** Places, those with the most routes first. @param {readonly import('./lines.js').Line[]} lines */
function hubsOf(lines) {
  /** @type {Map<import('./network.js').MapPlace, number>} */
  const counts = new Map()
  for (const { from } of lines) counts.set(from, (counts.get(from) ?? 0) + 1)
  return [...counts].sort(([, a], [, b]) => b - a).map(([place]) => place)
}

/** Many thin lines on top of each other need more transparency. @param {number} lines */
function alphaFor(lines) {
  return Math.max(0.06, Math.min(0.5, 400 / Math.max(1, lines)))
}

/** Clears a canvas and sets the view. `px` is the length of a pixel of the screen. @param {HTMLCanvasElement | null} canvas @param {Size} size @param {View} view */
function prepare(canvas, size, { x, y, k }) {
  const context = canvas?.getContext('2d')
  if (!canvas || !context) throw new Error('the map has no canvas')
  const ratio = Math.min(2, devicePixelRatio)
  canvas.width = size.width * ratio
  canvas.height = size.height * ratio
  context.setTransform(ratio * k, 0, 0, ratio * k, ratio * x, ratio * y)
  const colour = (/** @type {string} */ name) => colourOf(canvas, `map-${name}`)
  return { context, colour, px: 1 / k }
}

/**
 * How the picture of one view must move to look like another.
 * @param {View} from
 * @param {View} to
 */
function shiftOf(from, to) {
  const scale = to.k / from.k
  return `translate(${to.x - from.x * scale}px, ${to.y - from.y * scale}px) scale(${scale})`
}
