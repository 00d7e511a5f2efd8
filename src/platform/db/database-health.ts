import { statfs } from 'node:fs/promises'
import pg from 'pg'
import { AppError, messageOf } from '../base/errors.ts'
import { durationText } from '../base/text.ts'
import { type Db, sql } from './database.ts'
import { LockHeldError } from './session-lock.ts'
import { selectOne } from './transaction.ts'

const OLDEST_MAJOR = 18

/** The database does not answer, or refuses the connection. The message names the host without the password. */
export class DatabaseUnreachableError extends AppError {
  override readonly name = 'DatabaseUnreachableError'
  override readonly code = 'db.unreachable'
  override readonly retryable = true

  constructor(url: string, cause: unknown) {
    const { hostname, port, pathname, searchParams } = new URL(url)
    const host = searchParams.get('host') ?? (hostname || 'localhost')
    const where = `${host}:${port || '5432'}${pathname}`
    super(
      `PostgreSQL at ${where} cannot be used (${messageOf(cause)}): check DATABASE_URL and that PostgreSQL runs`,
      { cause },
    )
  }
}

/** The server is older than our SQL needs. */
class DatabaseTooOldError extends AppError {
  override readonly name = 'DatabaseTooOldError'
  override readonly code = 'db.too_old'
  override readonly retryable = false

  constructor(version: string) {
    super(`the database is PostgreSQL ${version}; farewatch needs ${OLDEST_MAJOR} or newer`)
  }
}

/** Returns the server's version text. Throws unless the database answers and is new enough. */
export async function probeDatabase(db: Db, url: string): Promise<string> {
  const { version } = await selectOne(
    sql<{ version: string }>`select current_setting('server_version') as version`,
    db,
  ).catch((err: unknown) => {
    throw new DatabaseUnreachableError(url, err)
  })
  if (Number.parseInt(version, 10) < OLDEST_MAJOR) throw new DatabaseTooOldError(version)
  return version
}

/**
 * Runs `select 1` on a new connection. Rejects after `timeoutMs`.
 *
 * The connection is outside the pool: an exhausted or stalled pool does not mean that the database is down.
 */
export async function pingDatabase(url: string, timeoutMs: number): Promise<void> {
  const client = new pg.Client({
    connectionString: url,
    application_name: 'farewatch ping',
    connectionTimeoutMillis: timeoutMs,
    query_timeout: timeoutMs,
  })
  // A lost connection also fails the query. Without a listener the event would end the process.
  client.on('error', () => undefined)
  try {
    await client.connect()
    await client.query('select 1')
  } finally {
    // Not awaited: on a stalled connection `end` would not return either.
    client.end().catch(() => undefined)
  }
}

/** The file system of the data directory. */
export interface Disk {
  readonly freeBytes: number
  readonly totalBytes: number
}

interface Storage {
  readonly databaseBytes: number
  /** Undefined if this process cannot see it. */
  readonly disk: Disk | undefined
}

/** Reads the size of the database, and the space of its disk if the disk belongs to this machine. */
export async function readStorage(db: Db): Promise<Storage> {
  const { bytes } = await selectOne(
    sql<{ bytes: number }>`select pg_database_size(current_database()) as bytes`,
    db,
  )
  return { databaseBytes: bytes, disk: await readDisk(db) }
}

/** A role without the rights of a monitor may not read where the data lies, and a server elsewhere has another disk. */
export async function readDisk(db: Db): Promise<Disk | undefined> {
  try {
    const { folder, local } = await selectOne(
      sql<{ folder: string; local: boolean }>`
        select current_setting('data_directory') as folder,
               coalesce(inet_client_addr() = inet_server_addr(), true) as local
      `,
      db,
    )
    if (!local) return undefined
    const { bavail, blocks, bsize } = await statfs(folder)
    return { freeBytes: bavail * bsize, totalBytes: blocks * bsize }
  } catch {
    return undefined
  }
}

/** A session that others wait for. */
interface Blocker {
  readonly pid: number
  readonly user: string | null
  readonly application: string
  /** How many sessions wait, and the longest wait in seconds. */
  readonly sessions: number
  readonly seconds: number
}

/** The sessions that hold locks for which others have waited for some seconds. */
export async function listBlockers(db: Db): Promise<Blocker[]> {
  const { rows } = await sql<Blocker>`
    select b.pid, b.usename as "user", b.application_name as application, count(distinct w.pid)::int as sessions,
           extract(epoch from clock_timestamp() - min(w.query_start))::float8 as seconds
      from pg_stat_activity w
     cross join lateral unnest(pg_blocking_pids(w.pid)) p (pid)
      join pg_stat_activity b on b.pid = p.pid
     where w.datname = current_database() and w.query_start < clock_timestamp() - interval '5 seconds'
       and cardinality(pg_blocking_pids(b.pid)) = 0
     group by 1, 2, 3
     order by sessions desc
  `.execute(db)
  return rows
}

/** @example 'session 7 of "ops" (psql) holds locks for which 3 sessions wait, the longest for 12 s' */
export function blockerText({ pid, user, application, sessions, seconds }: Blocker): string {
  const waiting = sessions === 1 ? '1 session waits' : `${sessions} sessions wait, the longest`
  const named = application === '' ? '' : ` (${application})`
  return `session ${pid} of "${user ?? '?'}"${named} holds locks for which ${waiting} for ${durationText(1_000 * seconds)}`
}

/** What ends a session. Its user, or an administrator, may do so. */
export function endSession({ pid }: Blocker): string {
  return `select pg_terminate_backend(${pid}), if what it does is not needed`
}

/** Whether a statement took longer than it may, which a lock or an overloaded database makes it do. */
export function isStatementTimeout(thrown: unknown): boolean {
  return thrown instanceof pg.DatabaseError && thrown.code === '57014'
}

/** 57014: the statement timed out, as it does on an overloaded database. */
const SQL_STATES = /^(57014|57P0[123]|08...|53300|25006)$/
const SOCKET_CODES = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ETIMEDOUT',
  'EPIPE',
  'ENOTFOUND',
  'EHOSTUNREACH',
])
/** Messages of pg and kysely for a connection that is lost or comes too late, or is closed. These errors have no code. */
const DRIVER_MESSAGES =
  /timeout exceeded when trying to connect|connection terminated|is not queryable|timeout expired|query read timeout|already been destroyed|calling end on the pool/i

/** Whether an error means that the database is down or overloaded, so that the caller may retry later. */
export function isDatabaseUnavailable(thrown: unknown): boolean {
  if (!(thrown instanceof Error)) return false
  if (thrown instanceof LockHeldError) return true
  const { code } = thrown as { code?: unknown }
  if (typeof code === 'string' && (SQL_STATES.test(code) || SOCKET_CODES.has(code))) return true
  if (thrown instanceof AggregateError && thrown.errors.some(isDatabaseUnavailable)) return true
  return DRIVER_MESSAGES.test(thrown.message)
}
