import { callApi } from '../session.js'

/**
 * @typedef {{ id: string, iata: string, city: string, country: string, latitude: number, longitude: number }} MapPlace
 * @typedef {[string, string]} Pair departure and destination, by place id
 * @typedef {{ pair: Pair, added: boolean, at: number }} Change
 * @typedef {{ live: Pair[], changes: Change[], from: number, to: number }} Network
 */

/** @type {Promise<Map<string, any>> | undefined} */
let places

/** All places by id, read once a tab. @returns {Promise<Map<string, any>>} */
export function readPlaces() {
  places ??= callApi('/places').then(
    ({ items }) => new Map(items.map((/** @type {any} */ place) => [place.id, place])),
  )
  places.catch(() => {
    places = undefined
  })
  return places
}

/**
 * The live routes now, and all changes of the last days.
 * @param {number} days
 * @returns {Promise<Network>}
 */
export async function readNetwork(days) {
  const from = new Date(Date.now() - days * 86_400_000).toISOString()
  const answer = await callApi(`/routes/difference?from=${encodeURIComponent(from)}`)
  return {
    live: Object.entries(answer.live).flatMap(([departure, destinations]) =>
      /** @type {string[]} */ (destinations).map(
        (destination) => /** @type {Pair} */ ([departure, destination]),
      ),
    ),
    changes: answer.changes.map((/** @type {any} */ { departureId, destinationId, added, at }) => ({
      pair: [departureId, destinationId],
      added,
      at: Date.parse(at),
    })),
    from: Date.parse(answer.from),
    to: Date.parse(answer.to),
  }
}

/**
 * The network as it stood at an instant within the answer: which routes were live all the time, which were added since
 * the beginning, and which were removed since.
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
    steady: network.live.filter((pair) => !moved.has(pair.join(' '))),
    returned: routes.filter(({ was, is }) => was && is).map(({ pair }) => pair),
    added: routes.filter(({ was, is }) => !was && is).map(({ pair }) => pair),
    removed: routes.filter(({ was, is }) => was && !is).map(({ pair }) => pair),
  }
}
