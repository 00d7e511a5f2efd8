import { messageOf } from '../base/errors.ts'
import type { Scrub } from '../base/secrets.ts'
import { cleanText } from '../base/text.ts'
import { type Db, PREPARED, sql } from '../db/database.ts'
import { selectOne } from '../db/transaction.ts'
import type { DueTick } from './run-when-due.ts'

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
 * Runs a tick in whichever process finds it due first. A failed run is not repeated: the next one does its work. A process
 * that is killed during a run costs that run.
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
 * Takes a run if it is due, and moves the tick to its next due time. A due time further ahead than the interval was written
 * before the clock was set back.
 */
function takeRun(
  db: Db,
  name: string,
  everyMs: number,
): Promise<{ isTaken: boolean; dueMs: number }> {
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
