import { setTimeout as delay } from 'node:timers/promises'
import { backoffMs, CLOCK_ERROR_MS, type Clock } from '../base/clock.ts'
import { type Db, type RawBuilder, sql, type Tx } from './database.ts'

/**
 * Serialization failure and deadlock: the same transaction may succeed at once. Data errors (22xxx, 23xxx) never
 * do.
 */
const RETRYABLE = new Set(['40001', '40P01'])
const MAX_ATTEMPTS = 4
const BACKOFF = { baseMs: 50, maxMs: 1_000 }

/**
 * Runs `work` in one transaction, or in that of the caller if `db` is one. Retries it after a jittered pause when Postgres reports a serialization failure or a
 * deadlock, so `work` must have no effect outside the transaction.
 */
export async function inTransaction<T>(db: Db, work: (tx: Tx) => Promise<T>): Promise<T> {
  if (db.isTransaction) return work(db as Tx)
  for (let attempt = 0; ; attempt += 1) {
    try {
      return await runOnce(db, work)
    } catch (err) {
      const code = (err as { code?: unknown }).code
      if (typeof code !== 'string' || !RETRYABLE.has(code)) throw err
      if (attempt + 1 === MAX_ATTEMPTS) throw err
      await delay(backoffMs(BACKOFF, attempt, Math.random))
    }
  }
}

/** On a lost connection kysely's rollback fails too. The error of `work` is the one to report. */
async function runOnce<T>(db: Db, work: (tx: Tx) => Promise<T>): Promise<T> {
  let failure: { readonly err: unknown } | undefined
  try {
    return await db.transaction().execute(async (tx) => {
      try {
        return await work(tx)
      } catch (err) {
        failure = { err }
        throw err
      }
    })
  } catch (err) {
    throw failure === undefined ? err : failure.err
  }
}

/**
 * Opens a transaction whose writes never commit: work may stage and compare lists in it as a sync does. All its reads
 * see the database at one instant. The caller ends it.
 */
export async function openScratchTransaction(db: Db): Promise<Tx & { end(): Promise<void> }> {
  const tx = await db.startTransaction().setIsolationLevel('repeatable read').execute()
  const end = async () => {
    // On a lost connection there is nothing to roll back. The error of the work is the one to report.
    await tx
      .rollback()
      .execute()
      .catch(() => undefined)
  }
  return Object.assign(tx, { end })
}

/**
 * Lets the commit of the caller's transaction return before it is on the disk. Put it into the select list of its first
 * statement. Only for work that is simply done again if a crash of the server undoes it.
 */
export const WITHOUT_WAITING_FOR_DISK = sql`set_config('synchronous_commit', 'off', true)`

/** Returns the row of a statement. Throws unless there is exactly one. */
export async function selectOne<T>(query: RawBuilder<T>, db: Db): Promise<T> {
  const { rows } = await query.execute(db)
  const [row] = rows
  if (row === undefined || rows.length > 1) {
    throw new Error(`the statement returned ${rows.length} rows instead of one`)
  }
  return row
}

/** Returns how many rows a statement wrote. */
export async function affected(query: RawBuilder<unknown>, db: Db): Promise<number> {
  return Number((await query.execute(db)).numAffectedRows ?? 0n)
}

/** The time by the database's clock. All processes use it, because their own clocks may be wrong. */
export async function databaseNow(db: Db): Promise<Date> {
  const { now } = await selectOne(sql<{ now: Date }>`select clock_timestamp() as now`, db)
  return now
}

/** The database's clock minus ours, in milliseconds, accurate to half of one round trip. */
export async function databaseSkewMs(db: Db, clock: Pick<Clock, 'now'>): Promise<number> {
  const sentMs = clock.now().getTime()
  const now = await databaseNow(db)
  return now.getTime() - (sentMs + clock.now().getTime()) / 2
}

/** `isAhead` of base/clock.ts in SQL: whether the database's clock was set back since an instant. Null for null. */
export function isAhead(instant: RawBuilder<unknown>): RawBuilder<boolean> {
  return sql`(${instant} > clock_timestamp() + make_interval(secs => ${CLOCK_ERROR_MS / 1000}))`
}
