import { AppError } from '../base/errors.ts'
import { type Db, type RawBuilder, sql, type Tx } from './database.ts'
import { selectOne } from './transaction.ts'

/** Advisory locks share one number space with other users of this database. */
const LOCK_SPACE = 0x66_61_72_65
/** A lock of a transaction is held for seconds. */
const LONGEST_WAIT_MS = 30_000
/** PostgreSQL's code for a wait that `lock_timeout` ended. */
const LOCK_NOT_AVAILABLE = '55P03'

/** A lock of ours was not free in time. `holder` may be any login of the database, such as an analyst's. */
export class LockHeldError extends AppError {
  override readonly name = 'LockHeldError'
  override readonly code = 'db.lock_held'
  override readonly retryable = true

  constructor(lock: string, holder: string, options?: ErrorOptions) {
    super(`the lock "${lock}" was not free in time: it was ${holder}`, options)
  }
}

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
      sql<{ taken: boolean }>`select pg_try_advisory_lock(${keyOf(name)}) as taken`,
      session,
    )
    if (!taken) return undefined
    try {
      return await work(session)
    } finally {
      // A lost connection has released the lock already, and the error of `work` is the one to report.
      await sql`select pg_advisory_unlock(${keyOf(name)})`.execute(session).catch(() => undefined)
    }
  })
}

/** As withSessionLock, for work with a result. Throws LockHeldError when another session holds the lock. */
export async function requireSessionLock<T extends object>(
  db: Db,
  name: string,
  work: () => Promise<T>,
): Promise<T> {
  const done = await withSessionLock(db, name, work)
  if (done === undefined) throw new LockHeldError(name, await findLockHolder(db, name))
  return done
}

/**
 * Waits for the named lock. The caller's transaction holds it to its end. Throws LockHeldError, which names the session
 * that held the lock when the wait began.
 */
export async function takeTransactionLock(
  tx: Tx,
  name: string,
  waitMs = LONGEST_WAIT_MS,
): Promise<void> {
  if (await tryTransactionLock(tx, name)) return
  const holder = await findLockHolder(tx, name)
  await sql`select set_config('lock_timeout', ${String(waitMs)}, true)`.execute(tx)
  try {
    await sql`select pg_advisory_xact_lock(${keyOf(name)})`.execute(tx)
  } catch (err) {
    if ((err as { code?: unknown }).code !== LOCK_NOT_AVAILABLE) throw err
    throw new LockHeldError(name, holder, { cause: err })
  }
  await sql`set local lock_timeout to default`.execute(tx)
}

/** Takes the named lock until the caller's transaction ends, if no other one holds it. Returns whether it did. */
export async function tryTransactionLock(tx: Tx, name: string): Promise<boolean> {
  const { taken } = await selectOne(
    sql<{ taken: boolean }>`select pg_try_advisory_xact_lock(${keyOf(name)}) as taken`,
    tx,
  )
  return taken
}

/** The session that holds the named lock, in words. */
export async function findLockHolder(db: Db, name: string): Promise<string> {
  const key = sql`(${LOCK_SPACE}::bigint, hashtext(${name})::bigint & 4294967295, 2)`
  return (await findHolder(db, key)) ?? 'no longer held'
}

/** The key of kysely's lock around all migrations, in the form of pg_locks. */
const MIGRATION_KEY = sql`(3853314791062309107 >> 32, 3853314791062309107 & 4294967295, 1)`
const STATEMENT_TIMEOUT = '57014'

/** The error of a migration: a LockHeldError if it timed out while another session held the lock around migrations. */
export async function migrationError(db: Db, err: unknown): Promise<unknown> {
  if ((err as { code?: unknown }).code !== STATEMENT_TIMEOUT) return err
  const holder = await findHolder(db, MIGRATION_KEY)
  return holder === undefined ? err : new LockHeldError('migrations', holder, { cause: err })
}

/** Undefined if the lock is free. Every login may see the role and the process of a session. */
async function findHolder(db: Db, key: RawBuilder<unknown>): Promise<string | undefined> {
  const { rows } = await sql<{ role: string | null; pid: number; application: string | null }>`
    select a.usename as role, l.pid, a.application_name as application
      from pg_locks l
      left join pg_stat_activity a on a.pid = l.pid
     where l.locktype = 'advisory' and l.granted
       and l.database = (select oid from pg_database where datname = current_database())
       and (l.classid::bigint, l.objid::bigint, l.objsubid) = ${key}
  `.execute(db)
  const [holder] = rows
  if (holder === undefined) return undefined
  const { role, pid, application } = holder
  return `held by role ${role ?? '(unknown)'}, process ${pid} (${application || 'no application name'})`
}

function keyOf(name: string): RawBuilder<unknown> {
  return sql`${LOCK_SPACE}::int, hashtext(${name})`
}
