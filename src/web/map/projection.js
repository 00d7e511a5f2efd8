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

/** The land of the world, fetched once a tab. */
export function readLand() {
  land ??= fetch('/assets/packages/land-110m.json')
    .then((response) => response.json())
    .then((world) => topojson.feature(world, world.objects.land))
  land.catch(() => {
    land = undefined
  })
  return land
}
