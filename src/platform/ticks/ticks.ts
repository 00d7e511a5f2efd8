import { type BackoffPolicy, backoffMs, type Clock } from '../base/clock.ts'
import { messageOf } from '../base/errors.ts'
import type { Logger } from '../base/logger.ts'
import type { Scrub } from '../base/secrets.ts'
import { cleanText } from '../base/text.ts'
import { type Db, PREPARED, sql } from '../db/database.ts'
import { selectOne } from '../db/transaction.ts'

/** A tick that one process runs for all. */
export interface SharedTick {
  readonly name: string
  readonly everyMs: number
  /** The next run does what this one leaves undone when the signal aborts it. */
  readonly run: (signal: AbortSignal) => Promise<unknown>
}

export interface SharedTickDeps {
  readonly db: Db
  /** Masks known secrets in stored failures. */
  readonly scrub: Scrub
}

/**
 * Runs a tick in whichever process finds it due first. A failed run is not repeated: the next one does its work. A
 * process that is killed during a run costs that run.
 */
export function shareTick(
  { db, scrub }: SharedTickDeps,
  { name, everyMs, run }: SharedTick,
): DueTick {
  const saveEnd = (failure: string | null) =>
    db
      .updateTable('tick')
      .set({ ended_at: sql<Date>`clock_timestamp()`, failure })
      .where('name', '=', name)
      .execute()
  return {
    name,
    atMostMs: everyMs,
    run: async (signal) => {
      const { isTaken, dueMs } = await takeRun(db, name, everyMs)
      if (!isTaken) return dueMs
      try {
        await run(signal)
      } catch (err) {
        await saveEnd(cleanText(scrub(messageOf(err))))
        throw err
      }
      await saveEnd(null)
      return dueMs
    },
  }
}

/**
 * Takes a run if it is due, and moves the tick to its next due time. A due time further ahead than the interval was
 * written before the clock was set back.
 */
function takeRun(db: Db, name: string, everyMs: number) {
  return selectOne(
    sql<{ isTaken: boolean; dueMs: number }>`${PREPARED}
      with taken as (
        insert into tick as t (name, due_at)
        values (${name}, clock_timestamp() + ${everyMs}::float8 * interval '1 millisecond')
            on conflict (name) do update set due_at = excluded.due_at
         -- Not excluded.due_at: it was computed before the wait for the row of another process.
         where t.due_at <= clock_timestamp()
            or t.due_at > clock_timestamp() + ${everyMs}::float8 * interval '1 millisecond'
        returning due_at
      ), known as (
        select due_at from taken
        union all
        select due_at from tick where name = ${name} and not exists (select from taken)
      )
      select exists (select from taken) as "isTaken",
             (extract(epoch from max(due_at) - clock_timestamp()) * 1000)::float8 as "dueMs"
        from known
    `,
    db,
  )
}

/** How the last run of a tick ended, in any process. */
export interface LastTick {
  readonly name: string
  readonly at: Date
  /** Null if it succeeded. */
  readonly failure: string | null
}

/** The last run of each tick that one process runs for all, the latest first. */
export function listLastTicks(db: Db): Promise<LastTick[]> {
  return db
    .selectFrom('tick')
    .select(['name', 'ended_at as at', 'failure'])
    .where('ended_at', 'is not', null)
    .orderBy('ended_at', 'desc')
    .$narrowType<{ at: Date }>()
    .execute()
}

/**
 * A tick that follows its work: every worker process runs it itself, when something is due.
 *
 * It needs no queue, so that an idle process waits, and a flushed queue loses nothing. Its statements must exclude
 * those of the other processes.
 */
export interface DueTick {
  readonly name: string
  /** It runs at least this often: a notification may be lost, and the clock may be set. */
  readonly atMostMs: number
  /**
   * Does what is due. Returns in how many milliseconds something is due next, or undefined if nothing is known to
   * be.
   */
  readonly run: (signal: AbortSignal) => Promise<number | undefined>
}

export interface RunningDueTick {
  /** Runs it as soon as the last run is a second ago. */
  notify(): void
  /** Aborts a run, and resolves when it has ended. */
  stop(): Promise<void>
}

export interface DueTickDeps {
  readonly clock: Clock
  readonly log: Logger
  readonly random: () => number
}

/** The pause between two runs: what is due within it is done together. */
const GAP_MS = 1_000
const AFTER_FAILURE: BackoffPolicy = { baseMs: 2_000, maxMs: 10_000 }

/**
 * Runs the tick now, and then whenever something is due. A failure is logged, and the run is repeated after a
 * pause.
 */
export function runWhenDue(tick: DueTick, { clock, log, random }: DueTickDeps): RunningDueTick {
  const stopping = new AbortController()
  let notified = new AbortController()
  let failures = 0

  /** Returns how long to wait for the next run. */
  async function runOnce(): Promise<number> {
    try {
      const dueMs = await tick.run(stopping.signal)
      failures = 0
      return Math.min(tick.atMostMs, dueMs ?? tick.atMostMs)
    } catch (err) {
      if (!stopping.signal.aborted) {
        log.warn({ tick: tick.name, reason: messageOf(err) }, 'tick failed')
      }
      failures += 1
      return GAP_MS + backoffMs(AFTER_FAILURE, failures, random)
    }
  }

  async function loop(): Promise<void> {
    while (!stopping.signal.aborted) {
      // A notification during the run may be for what the run did not see.
      notified = new AbortController()
      const waitMs = await runOnce()
      await sleep(GAP_MS, stopping.signal)
      await sleep(waitMs - GAP_MS, AbortSignal.any([stopping.signal, notified.signal]))
    }
  }

  async function sleep(ms: number, signal: AbortSignal): Promise<void> {
    if (ms > 0) await clock.sleep(ms, signal).catch(() => undefined)
  }

  const running = loop()
  return {
    notify: () => notified.abort(),
    stop: async () => {
      stopping.abort()
      await running
    },
  }
}
