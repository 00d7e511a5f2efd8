import type { Episode } from './episodes.ts'

/** What a demonstration adds to the life of one flight. */
export interface FlightScript {
  readonly soldOut?: Episode
  readonly dearer?: { readonly at: number; readonly factor: number }
  readonly retiming?: { readonly at: number; readonly shiftMs: number }
  /** From then on it changes more often. */
  readonly livelyFrom?: number
}

/** A demonstration: changes of a few flights and routes in a fixed order. A function of the seed and the instant at which it begins. */
export interface Story {
  readonly startsAt: number
  /** By flight id, in the order of the changes. */
  readonly flights: ReadonlyMap<string, FlightScript>
  /** When routes are closed, by the word of their pair. */
  readonly closures: ReadonlyMap<number, Episode>
}
