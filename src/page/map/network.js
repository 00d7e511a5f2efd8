import { callApi, readAll } from '../session.js'

/**
 * @typedef {{ id: string, iata: string, city: string, country: string, latitude: number | null, longitude: number | null }} Place
 * @typedef {Place & { latitude: number, longitude: number }} MapPlace a place whose position is known
 * @typedef {[string, string]} Pair departure and destination, by place id
 * @typedef {{ pair: Pair, added: boolean, at: number }} Change
 * @typedef {{ live: Pair[], changes: Change[], from: number, to: number }} Network
 */

/** @type {Promise<Map<string, Place>> | undefined} */
let places

/** All places by id, read once a tab. @returns {Promise<Map<string, Place>>} */
export function readPlaces() {
  places ??= readAll('/places?limit=10000', 100_000).then(
    (items) => new Map(items.map((place) => [place.id, place])),
  )
  places.catch(() => {
    places = undefined
  })
  return places
}

/** @param {MapPlace} place @returns {[number, number]} as projections take it */
export function positionOf({ longitude, latitude }) {
  return [longitude, latitude]
}

/** @param {Pick<Place, 'iata' | 'id' | 'city'>} place */
export function nameOf({ iata, id, city }) {
  return `${iata || id} ${city}`
}

/**
 * The live routes at an instant, and all changes since an earlier one.
 * @param {Date} from
 * @param {Date | undefined} to now if it is undefined
 * @returns {Promise<Network>}
 */
export async function readNetwork(from, to) {
  const until = to === undefined ? '' : `&to=${to.toISOString()}`
  const answer = await callApi(`/routes/difference?from=${from.toISOString()}${until}`)
  return {
    live: pairsOf(answer.live),
    changes: answer.changes.map(({ departureId, destinationId, added, at }) => ({
      pair: [departureId, destinationId],
      added,
      at: Date.parse(at),
    })),
    from: Date.parse(answer.from),
    to: Date.parse(answer.to),
  }
}

/**
 * The routes of destinations by departure.
 * @param {Readonly<Record<string, readonly string[]>>} byDeparture
 * @returns {Pair[]}
 */
export function pairsOf(byDeparture) {
  return Object.entries(byDeparture).flatMap(([departure, destinations]) =>
    destinations.map((destination) => /** @type {Pair} */ ([departure, destination])),
  )
}

/** The routes that were live all the time. @param {Network} network */
export function steadyOf({ live, changes }) {
  const moved = new Set(changes.map(({ pair }) => pair.join(' ')))
  return live.filter((pair) => !moved.has(pair.join(' ')))
}

/**
 * How the other routes stood at an instant within the answer: which had returned, which were added since the beginning,
 * and which were removed since.
 * @param {Network} network
 * @param {number} at
 */
export function networkAt(network, at) {
  /** @type {Map<string, { pair: Pair, was: boolean, is: boolean }>} */
  const moved = new Map()
  for (const { pair, added, at: changedAt } of network.changes) {
    const key = pair.join(' ')
    const route = moved.get(key) ?? { pair, was: !added, is: !added }
    if (changedAt <= at) route.is = added
    moved.set(key, route)
  }
  const routes = [...moved.values()]
  return {
    returned: routes.filter(({ was, is }) => was && is).map(({ pair }) => pair),
    added: routes.filter(({ was, is }) => !was && is).map(({ pair }) => pair),
    removed: routes.filter(({ was, is }) => was && !is).map(({ pair }) => pair),
  }
}
