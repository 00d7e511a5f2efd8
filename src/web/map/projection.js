import 'd3-array'
import 'd3-geo'
import 'topojson-client'

/*
 * The packages are scripts that add to a global object: one file each, where their modules would be a hundred requests.
 */
/** @type {typeof import('d3-geo')} */
export const d3 = /** @type {any} */ (globalThis).d3
/** @type {typeof import('topojson-client')} */
export const topojson = /** @type {any} */ (globalThis).topojson

/** @type {Promise<any> | undefined} */
let land

/** North of Antarctica: no route leads there, and it would take a quarter of the map. */
const SOUTH = -60

/** @param {any} world */
function inhabited({ features }) {
  const polygons = features.flatMap((/** @type {any} */ { geometry }) =>
    geometry.type === 'Polygon' ? [geometry.coordinates] : geometry.coordinates,
  )
  const isNorth = (/** @type {[number, number][][]} */ [outline]) =>
    outline?.some(([, latitude]) => latitude > SOUTH)
  return { type: 'MultiPolygon', coordinates: polygons.filter(isNorth) }
}

/** The land of the world, fetched once a tab. */
export function readLand() {
  land ??= fetch('/assets/packages/land-110m.json')
    .then((response) => response.json())
    .then((world) => inhabited(topojson.feature(world, world.objects.land)))
  land.catch(() => {
    land = undefined
  })
  return land
}
