import 'd3-array'
import 'd3-geo'
import 'topojson-client'

/*
 * The packages are scripts that add to a global object: one file each, where their modules would be a hundred requests.
 */
/** @typedef {typeof globalThis & { d3: typeof import('d3-geo'), topojson: typeof import('topojson-client') }} Packages */

export const d3 = /** @type {Packages} */ (globalThis).d3
export const topojson = /** @type {Packages} */ (globalThis).topojson

/**
 * @typedef {import('geojson').FeatureCollection<import('geojson').Polygon | import('geojson').MultiPolygon>} Land
 * @typedef {import('topojson-specification').Topology<{ land: import('topojson-specification').GeometryCollection }>} World
 */

/** @type {Promise<import('geojson').MultiPolygon> | undefined} */
let land

/** North of Antarctica: no route leads there, and it would take a quarter of the map. */
const SOUTH = -60

/** @param {Land} land @returns {import('geojson').MultiPolygon} */
function inhabited({ features }) {
  const polygons = features.flatMap(({ geometry }) =>
    geometry.type === 'Polygon' ? [geometry.coordinates] : geometry.coordinates,
  )
  const isNorth = (/** @type {import('geojson').Position[][]} */ [outline]) =>
    outline?.some(([, latitude = SOUTH]) => latitude > SOUTH)
  return { type: 'MultiPolygon', coordinates: polygons.filter(isNorth) }
}

/** The land of the world, fetched once a tab. */
export function readLand() {
  land ??= fetch(import.meta.resolve('/assets/packages/land-110m.json'))
    .then((response) => response.json())
    .then((/** @type {World} */ world) =>
      inhabited(/** @type {Land} */ (topojson.feature(world, world.objects.land))),
    )
  land.catch(() => {
    land = undefined
  })
  return land
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

/** Curves are projected once, and shown larger. */
const PRECISION_PX = 0.2

/** @param {{ width: number, height: number }} size */
export function projectionFor({ width, height }) {
  const room = /** @type {[[number, number], [number, number]]} */ ([
    [8, 8],
    [width - 8, height - 8],
  ])
  return d3.geoNaturalEarth1().fitExtent(room, INHABITED).precision(PRECISION_PX)
}
