import { d3 } from './projection.js'

/** Farther than this a straight line on the map is far from the great circle. */
const CURVED_FROM = 0.35

/**
 * @typedef {{ longitude: number, latitude: number }} Point
 * @typedef {{ from: Point, to: Point }} Line
 */

/** A browser draws one path with all lines much slower than many paths. */
const LINES_A_PATH = 500

/**
 * Routes as paths: short ones straight, long ones along the great circle.
 * @param {import('d3-geo').GeoProjection} projection
 * @param {readonly Line[]} lines
 * @returns {Path2D[]}
 */
export function pathsOf(projection, lines) {
  const paths = []
  for (let first = 0; first < lines.length; first += LINES_A_PATH) {
    const path = new Path2D()
    const draw = d3.geoPath(
      projection,
      /** @type {import('d3-geo').GeoContext} */ (/** @type {unknown} */ (path)),
    )
    for (const line of lines.slice(first, first + LINES_A_PATH)) {
      addLine(line, { projection, path, draw })
    }
    paths.push(path)
  }
  return paths
}

/** @param {Line} line @param {{ projection: import('d3-geo').GeoProjection, path: Path2D, draw: import('d3-geo').GeoPath }} to */
function addLine({ from, to }, { projection, path, draw }) {
  const a = /** @type {[number, number]} */ ([from.longitude, from.latitude])
  const b = /** @type {[number, number]} */ ([to.longitude, to.latitude])
  if (d3.geoDistance(a, b) > CURVED_FROM || Math.abs(a[0] - b[0]) > 180) {
    draw({ type: 'LineString', coordinates: [a, b] })
    return
  }
  const start = projection(a)
  const end = projection(b)
  if (!start || !end) return
  path.moveTo(start[0], start[1])
  path.lineTo(end[0], end[1])
}

/** @param {import('d3-geo').GeoProjection} projection @param {import('geojson').MultiPolygon} land */
export function landPath(projection, land) {
  const path = new Path2D()
  d3.geoPath(
    projection,
    /** @type {import('d3-geo').GeoContext} */ (/** @type {unknown} */ (path)),
  )(land)
  return path
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {readonly Path2D[]} paths
 * @param {{ colour: string, width: number, dash?: number[], alpha?: number }} pen
 */
export function strokePaths(context, paths, { colour, width, dash = [], alpha = 1 }) {
  context.strokeStyle = colour
  context.lineWidth = width
  context.globalAlpha = alpha
  context.setLineDash(dash)
  for (const path of paths) context.stroke(path)
  context.setLineDash([])
  context.globalAlpha = 1
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {readonly [number, number][]} points
 * @param {{ colour: string, radius: number }} pen
 */
export function drawPoints(context, points, { colour, radius }) {
  context.beginPath()
  for (const [x, y] of points) {
    context.moveTo(x + radius, y)
    context.arc(x, y, radius, 0, 2 * Math.PI)
  }
  context.fillStyle = colour
  context.fill()
}
