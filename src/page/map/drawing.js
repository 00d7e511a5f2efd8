import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { positionOf } from './network.js'
import { d3, projectionFor } from './projection.js'

/** @typedef {{ x: number, y: number, k: number }} View */
/** @typedef {{ width: number, height: number }} Size */
/** @typedef {import('./network-map.js').Line} Line */
/** @typedef {ReturnType<typeof worldOf>} World */

/** More lines than this that changed are drawn thinner. */
const MANY = 300

/** The custom properties of styles/base.css that are drawn with. */
const DRAWN = ['sea', 'land', 'coast', 'live', 'added', 'removed', 'place', 'focus']

// Without a registered syntax, the value of a property is the text `light-dark(…)` and not a colour.
for (const name of DRAWN) {
  CSS.registerProperty({
    name: `--map-${name}`,
    syntax: '<color>',
    inherits: true,
    initialValue: 'gray',
  })
}

/** Projects once for each size of the map: a view of it is that picture, enlarged and moved. @param {Size} size @param {import('geojson').MultiPolygon} land */
export function worldOf(size, land) {
  const projection = projectionFor(size)
  const drawn = (/** @type {import('d3-geo').GeoPermissibleObjects} */ shape) => {
    const path = new Path2D()
    const context = /** @type {unknown} */ (path)
    d3.geoPath(projection, /** @type {import('d3-geo').GeoContext} */ (context))(shape)
    return path
  }
  /** @type {WeakMap<Line, Path2D>} */
  const paths = new WeakMap()
  return {
    projection,
    land: drawn(land),
    point: (/** @type {import('./network.js').MapPlace} */ place) =>
      projection(positionOf(place)) ?? /** @type {[number, number]} */ ([0, 0]),
    /** Short routes are straight, long ones follow the great circle. */
    path: (/** @type {Line} */ line) => {
      const ends = [line.from, line.to].map(positionOf)
      const known = paths.get(line) ?? drawn({ type: 'LineString', coordinates: ends })
      paths.set(line, known)
      return known
    },
  }
}

/**
 * Draws the routes that stay on one canvas and those that change on another. While the map moves, both are shifted.
 * @param {import('./network-map.js').Lines} lines
 * @param {{ size: Size, view: View, moving: boolean, world: World | undefined }} map
 */
export function useDrawing(lines, { size, view, moving, world }) {
  const base = useRef(/** @type {HTMLCanvasElement | null} */ (null))
  const top = useRef(/** @type {HTMLCanvasElement | null} */ (null))
  const drawn = useRef(/** @type {View} */ (view))
  const dark = useDark()
  const { steady, places, labels } = lines
  // Drawn before the browser paints: otherwise the old picture would show unshifted for a frame.
  useLayoutEffect(() => {
    if (moving || world === undefined) return
    const { context, colour, px, stroke, dots } = prepare(base.current, { size, view, world })
    context.fillStyle = colour('land')
    context.fill(world.land)
    context.lineWidth = 0.6 * px
    context.strokeStyle = colour('coast')
    context.stroke(world.land)
    context.globalAlpha = alphaFor(steady.length / view.k)
    stroke(steady, 'live', 0.8)
    context.globalAlpha = 1
    dots(places, 'place', 1.6)
    context.font = `600 ${11 * px}px system-ui, sans-serif`
    context.lineWidth = 3 * px
    context.strokeStyle = colour('sea')
    for (const { iata, at } of labels) {
      const corner = /** @type {const} */ ([at[0] + 3 * px, at[1] - 3 * px])
      context.strokeText(iata, ...corner)
      context.fillText(iata, ...corner)
    }
    drawn.current = view
  }, [moving, view, size, steady, places, world, dark])
  useLayoutEffect(() => {
    if (moving || world === undefined) return
    const { context, px, stroke, dots } = prepare(top.current, { size, view, world })
    const { removed, added, addedPlaces, focused, focusPlaces } = lines
    const width = added.length + removed.length > MANY ? 0.8 : 1.6
    context.setLineDash([4 * px, 3 * px])
    stroke(removed, 'removed', width)
    context.setLineDash([])
    stroke(added, 'added', width)
    dots(addedPlaces, 'place', 1.6)
    stroke(focused, 'focus', 1.4)
    dots(focusPlaces, 'focus', 4)
  }, [moving, view, size, lines, world, dark])
  return { base, top, shift: moving ? shiftOf(drawn.current, view) : 'none' }
}

/** Many thin lines on top of each other need more transparency; in a close view most are elsewhere. @param {number} lines */
function alphaFor(lines) {
  return Math.max(0.06, Math.min(0.5, 400 / Math.max(1, lines)))
}

/** Clears a canvas and sets the view. `px` is the length of a pixel of the screen. @param {HTMLCanvasElement | null} canvas @param {{ size: Size, view: View, world: World }} map */
function prepare(canvas, { size, view: { x, y, k }, world }) {
  const context = canvas?.getContext('2d')
  if (!canvas || !context) throw new Error('the map has no canvas')
  const ratio = Math.min(2, devicePixelRatio)
  canvas.width = size.width * ratio
  canvas.height = size.height * ratio
  context.setTransform(ratio * k, 0, 0, ratio * k, ratio * x, ratio * y)
  const px = 1 / k
  const style = getComputedStyle(canvas)
  const colour = (/** @type {string} */ name) => style.getPropertyValue(`--map-${name}`)
  const stroke = (
    /** @type {readonly Line[]} */ lines,
    /** @type {string} */ name,
    /** @type {number} */ width,
  ) => {
    context.strokeStyle = colour(name)
    context.lineWidth = width * px
    for (const line of lines) context.stroke(world.path(line))
  }
  const dots = (
    /** @type {readonly import('./network.js').MapPlace[]} */ places,
    /** @type {string} */ name,
    /** @type {number} */ radius,
  ) => {
    context.fillStyle = colour(name)
    context.beginPath()
    for (const place of places) {
      const [left, above] = world.point(place)
      context.moveTo(left, above)
      context.arc(left, above, radius * px, 0, 2 * Math.PI)
    }
    context.fill()
  }
  return { context, colour, px, stroke, dots }
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

/** Whether the reader prefers dark colours: what is drawn must be drawn again when it changes. */
function useDark() {
  const [dark, setDark] = useState(matchMedia('(prefers-color-scheme: dark)').matches)
  useEffect(() => {
    const query = matchMedia('(prefers-color-scheme: dark)')
    const update = () => setDark(query.matches)
    query.addEventListener('change', update)
    return () => query.removeEventListener('change', update)
  }, [])
  return dark
}
