import { type Db, sql } from './database.ts'
import { selectOne } from './transaction.ts'

/** Advisory locks of ours share one number space with whatever else lives in this database. */
const LOCK_SPACE = 0x66_61_72_65

/**
 * Runs `work` on one pinned connection while it holds the named lock, over as many transactions as it likes.
 * Returns undefined at once when another session holds it. A dead process gives the lock back by itself.
 */
export async function withSessionLock<T>(
  db: Db,
  name: string,
  work: (session: Db) => Promise<T>,
): Promise<T | undefined> {
  return db.connection().execute(async (session) => {
    const { taken } = await selectOne(
      sql<{ taken: boolean }>`
        select pg_try_advisory_lock(${LOCK_SPACE}::int, hashtext(${name})) as taken
      `,
      session,
    )
    if (!taken) return undefined
    try {
      return await work(session)
    } finally {
      // On a broken connection the lock is gone already, and the error of `work` is the one to tell.
      await sql`select pg_advisory_unlock(${LOCK_SPACE}::int, hashtext(${name}))`
        .execute(session)
        .catch(() => undefined)
    }
  })
}

/** Waits for the named lock within the caller's transaction, which holds it to its end. */
export async function takeTransactionLock(tx: Db, name: string): Promise<void> {
  await sql`select pg_advisory_xact_lock(${LOCK_SPACE}::int, hashtext(${name}))`.execute(tx)
}
