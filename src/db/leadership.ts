import type { Clock } from '../base/clock.ts'
import { messageOf } from '../base/errors.ts'
import type { Logger } from '../base/logger.ts'
import { type Db, openDatabase, sql } from './database.ts'
import { withSessionLock } from './session-lock.ts'

/** A part that one process of all plays at a time, as long as it lives. */
export interface Leadership {
  /** The leader's own session; undefined where another process leads, or may. The first call waits for the first try. */
  session(): Promise<Db | undefined>
  /** Lets another lead. */
  close(): Promise<void>
}

export interface LeadershipOptions {
  readonly url: string
  readonly name: string
  readonly applicationName: string
  readonly log: Logger
  readonly clock: Clock
  readonly timings?: LeadershipTimings
}

export interface LeadershipTimings {
  /** How often the leader gives a sign of life, and others look whether there is one. */
  readonly everyMs: number
  /** After as long without a sign the database ends the leader's session. */
  readonly silenceMs: number
}

/** A database that is silent must not keep the process from its end, which gives the lead up anyway. */
const CLOSE_DEADLINE_MS = 1_000

const DEFAULT_TIMINGS: LeadershipTimings = { everyMs: 5_000, silenceMs: 20_000 }

/**
 * Leads while it holds the named lock on a session of its own.
 *
 * A process that dies gives the lock back with its connection. One that hangs, or was stopped, keeps its connection
 * up: the session of a leader that is silent for too long is ended by the database, and with it its lead. It takes
 * itself for no leader any more by then, also where it cannot hear of that. The one
 * connection is apart from the pool, so that the leader can look into the database when the pool is exhausted.
 */
export function seekLeadership(options: LeadershipOptions): Leadership {
  const { clock, log, name, timings = DEFAULT_TIMINGS } = options
  const database = openDatabase({ ...options, maxConnections: 1 })
  const closing = new AbortController()
  const tried = Promise.withResolvers<void>()
  let leading: Db | undefined
  let signAtMs = 0

  async function lead(session: Db): Promise<void> {
    const startedMs = performance.now()
    await sql`select set_config('idle_session_timeout', ${String(timings.silenceMs)}, false)`.execute(
      session,
    )
    leading = session
    signAtMs = startedMs
    tried.resolve()
    try {
      while (!closing.signal.aborted) {
        await clock.sleep(timings.everyMs, closing.signal).catch(() => undefined)
        const askedMs = performance.now()
        await sql`select 1`.execute(session)
        signAtMs = askedMs
      }
    } finally {
      leading = undefined
    }
  }

  async function seek(): Promise<void> {
    while (!closing.signal.aborted) {
      await withSessionLock(database.db, name, lead).catch((err: unknown) => {
        log.debug({ name, reason: messageOf(err) }, 'no lead: the database does not answer')
      })
      tried.resolve()
      await clock.sleep(timings.everyMs, closing.signal).catch(() => undefined)
    }
  }

  const seeking = seek()
  return {
    session: async () => {
      await tried.promise
      return performance.now() - signAtMs < timings.silenceMs ? leading : undefined
    },
    close: async () => {
      closing.abort()
      const closed = new AbortController()
      const close = seeking.then(() => database.close()).finally(() => closed.abort())
      await Promise.race([
        close,
        clock.sleep(CLOSE_DEADLINE_MS, closed.signal).catch(() => undefined),
      ])
    },
  }
}
