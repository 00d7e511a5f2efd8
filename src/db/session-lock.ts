import { type Db, sql } from './database.ts'
import { selectOne } from './transaction.ts'

/** Advisory locks share one number space with other users of this database. */
const LOCK_SPACE = 0x66_61_72_65

/**
 * Runs `work` on one pinned connection that holds the named lock, over any number of transactions. Returns undefined
 * at once when another session holds the lock. Postgres releases the lock when the connection ends.
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
      // A lost connection has released the lock already, and the error of `work` is the one to report.
      await sql`select pg_advisory_unlock(${LOCK_SPACE}::int, hashtext(${name}))`
        .execute(session)
        .catch(() => undefined)
    }
  })
}

/** Waits for the named lock. The caller's transaction holds it to its end. */
export async function takeTransactionLock(tx: Db, name: string): Promise<void> {
  await sql`select pg_advisory_xact_lock(${LOCK_SPACE}::int, hashtext(${name}))`.execute(tx)
}
