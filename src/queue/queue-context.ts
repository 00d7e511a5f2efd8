import type { Clock } from '../base/clock.ts'
import type { Logger } from '../base/logger.ts'
import type { Scrub } from '../base/secrets.ts'
import type { QueueConnection } from './queue-connection.ts'

/** What every part of one queue system shares. */
export interface QueueContext {
  readonly connection: QueueConnection
  /** Redis only: the start of all keys, in a hash tag so that a Cluster keeps them on one node. */
  readonly prefix: string
  readonly log: Logger
  readonly scrub: Scrub
  readonly clock: Clock
  readonly random: () => number
  readonly timings: QueueTimings
}

export interface QueueTimings {
  /** How long a call, or the first connect of a worker, may take. */
  readonly deadlineMs: number
  /** An idle worker asks its store at least this often; one that misses four is taken for stuck. */
  readonly pollMs: number
}

export const DEFAULT_TIMINGS: QueueTimings = { deadlineMs: 5_000, pollMs: 5_000 }
