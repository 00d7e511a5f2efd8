import { type Airport, readAirports } from './airports.ts'
import { buildPairs, type Pair } from './route-network.ts'
import type { Story } from './script.ts'

/**
 * The airports, and every pair of them that is ever flown. The seed determines both.
 *
 * Immutable. Functions of (world, instant) compute the state at an instant; they remember nothing, so instants may
 * come in any order.
 */
export interface World {
  readonly seed: number
  readonly airports: readonly Airport[]
  /** By departure id, then destination id. */
  readonly pairs: readonly Pair[]
  readonly pairOf: ReadonlyMap<string, Pair>
  /** A demonstration within the world, if it has one. */
  readonly story?: Story
}

let latest: World | undefined

/** The world of a seed, an integer. Takes about 200 ms, and none for the seed of the last call. */
export function createWorld({ seed }: { seed: number }): World {
  if (latest?.seed === seed) return latest
  const airports = readAirports()
  latest = worldOf({ seed, airports, pairs: buildPairs(seed, airports) })
  return latest
}

export function worldOf(parts: Omit<World, 'pairOf'>): World {
  const pairOf = new Map(parts.pairs.map((pair) => [pairName(pair.from.id, pair.to.id), pair]))
  return { ...parts, pairOf }
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
