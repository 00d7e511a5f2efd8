import { setTimeout as delay } from 'node:timers/promises'
import type { RawBuilder } from 'kysely'
import { backoffMs } from '../base/backoff.ts'
import type { Db, Tx } from './database.ts'

/** Serialization failure, deadlock: the same transaction may succeed at once. Never 22xxx or 23xxx. */
const RETRYABLE_IN_SESSION = new Set(['40001', '40P01'])
const MAX_ATTEMPTS = 4
const BACKOFF = { baseMs: 50, maxMs: 1_000 }

/**
 * Runs `work` in one transaction; again, after a jittered pause, when Postgres gave it up for another's sake.
 * `work` must therefore hold no effect outside the transaction.
 */
export async function inTransaction<T>(db: Db, work: (tx: Tx) => Promise<T>): Promise<T> {
  for (let attempt = 0; ; attempt += 1) {
    try {
      return await runOnce(db, work)
    } catch (err) {
      const code = (err as { code?: unknown }).code
      if (typeof code !== 'string' || !RETRYABLE_IN_SESSION.has(code)) throw err
      if (attempt + 1 === MAX_ATTEMPTS) throw err
      await delay(backoffMs(BACKOFF, attempt, Math.random))
    }
  }
}

/** On a connection that broke, kysely's rollback fails too: the error of `work` is the one to tell. */
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

/** The row of a statement that returns exactly one. */
export async function selectOne<T>(query: RawBuilder<T>, db: Db): Promise<T> {
  const [row, ...more] = (await query.execute(db)).rows
  if (row === undefined || more.length > 0) throw new Error('the statement returned not one row')
  return row
}

/** How many rows a statement wrote. */
export async function affected(query: RawBuilder<unknown>, db: Db): Promise<number> {
  return Number((await query.execute(db)).numAffectedRows ?? 0n)
}
