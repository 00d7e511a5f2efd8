import { type Airport, readAirports } from './airports.ts'
import { buildPairs, type Pair } from './route-network.ts'

/**
 * What a seed fixes for all time: the airports and every pair of them that is ever flown.
 *
 * Immutable. What holds at an instant is asked of functions of (world, instant): nothing is remembered between
 * two questions, so any instant may be asked in any order.
 */
export interface World {
  readonly seed: number
  readonly airports: readonly Airport[]
  /** By departure id, then destination id. */
  readonly pairs: readonly Pair[]
  readonly pairOf: ReadonlyMap<string, Pair>
}

/** Builds the world of a seed, an integer; about 200 ms. */
export function createWorld({ seed }: { seed: number }): World {
  const airports = readAirports()
  const pairs = buildPairs(seed, airports)
  const pairOf = new Map(pairs.map((pair) => [pairName(pair.from.id, pair.to.id), pair]))
  return { seed, airports, pairs, pairOf }
}

/** The pair flown between two airports, if it ever is. Takes the ids as numbers or as the lists' text. */
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
