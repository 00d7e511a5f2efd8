import { type Airport, readAirports } from './airports.ts'
import { buildPairs, type Pair } from './route-network.ts'

/**
 * The airports, and every pair of them that is ever flown. The seed determines both.
 *
 * Immutable. Functions of (world, instant) compute the state at an instant; they remember nothing, so instants may come in
 * any order.
 */
export interface World {
  readonly seed: number
  readonly airports: readonly Airport[]
  /** By departure id, then destination id. */
  readonly pairs: readonly Pair[]
  readonly pairOf: ReadonlyMap<string, Pair>
}

/** Builds the world of a seed, an integer. Takes about 200 ms. */
export function createWorld({ seed }: { seed: number }): World {
  const airports = readAirports()
  const pairs = buildPairs(seed, airports)
  const pairOf = new Map(pairs.map((pair) => [pairName(pair.from.id, pair.to.id), pair]))
  return { seed, airports, pairs, pairOf }
}

/** The pair of two airports, if it is ever flown. Accepts ids as numbers or as text. */
export function findPair(
  world: World,
  departureId: number | string,
  destinationId: number | string,
): Pair | undefined {
  return world.pairOf.get(pairName(departureId, destinationId))
}

function pairName(departureId: number | string, destinationId: number | string): string {
  return `${departureId}>${destinationId}`
}
