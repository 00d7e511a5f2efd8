import { colourOf } from '../colours.js'
import { d3 } from './projection.js'

/** Farther than this a straight line on the map is far from the great circle. */
const CURVED_FROM = 0.35

/**
 * @typedef {{ land: string, sea: string, coast: string, live: string, added: string, removed: string, place: string, focus: string }} Palette
 * @typedef {{ longitude: number, latitude: number }} Point
 * @typedef {{ from: Point, to: Point }} Line
 */

/** @param {HTMLElement} element @returns {Palette} */
export function paletteOf(element) {
  const colour = (/** @type {string} */ name) => colourOf(element, `map-${name}`)
  return {
    land: colour('land'),
    sea: colour('sea'),
    coast: colour('coast'),
    live: colour('live'),
    added: colour('added'),
    removed: colour('removed'),
    place: colour('place'),
    focus: colour('focus'),
  }
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {import('d3-geo').GeoProjection} projection
 * @param {{ land: any, palette: Palette }} options
 */
export function drawLand(context, projection, { land, palette }) {
  const path = d3.geoPath(projection, context)
  context.beginPath()
  path({ type: 'Sphere' })
  context.fillStyle = palette.sea
  context.fill()
  context.beginPath()
  path(land)
  context.fillStyle = palette.land
  context.fill()
  context.strokeStyle = palette.coast
  context.lineWidth = 0.6
  context.stroke()
}

/**
 * Draws routes as one path: short ones straight, long ones along the great circle.
 * @param {CanvasRenderingContext2D} context
 * @param {import('d3-geo').GeoProjection} projection
 * @param {{ lines: readonly Line[], colour: string, width: number, dash?: number[] }} options
 */
export function drawLines(context, projection, { lines, colour, width, dash = [] }) {
  const path = d3.geoPath(projection, context)
  context.beginPath()
  for (const { from, to } of lines) {
    const a = /** @type {[number, number]} */ ([from.longitude, from.latitude])
    const b = /** @type {[number, number]} */ ([to.longitude, to.latitude])
    if (d3.geoDistance(a, b) > CURVED_FROM || Math.abs(a[0] - b[0]) > 180) {
      path({ type: 'LineString', coordinates: [a, b] })
      continue
    }
    const start = projection(a)
    const end = projection(b)
    if (!start || !end) continue
    context.moveTo(start[0], start[1])
    context.lineTo(end[0], end[1])
  }
  context.strokeStyle = colour
  context.lineWidth = width
  context.setLineDash(dash)
  context.stroke()
  context.setLineDash([])
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {import('d3-geo').GeoProjection} projection
 * @param {{ points: readonly Point[], colour: string, radius: number }} options
 */
export function drawPoints(context, projection, { points, colour, radius }) {
  context.beginPath()
  for (const { longitude, latitude } of points) {
    const at = projection([longitude, latitude])
    if (!at) continue
    context.moveTo(at[0] + radius, at[1])
    context.arc(at[0], at[1], radius, 0, 2 * Math.PI)
  }
  context.fillStyle = colour
  context.fill()
}
