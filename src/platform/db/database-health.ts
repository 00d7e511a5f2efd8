import { randomUUID } from 'node:crypto'
import { statfs } from 'node:fs/promises'
import pg from 'pg'
import { AppError, messageOf } from '../base/errors.ts'
import { takeServerOptions } from '../base/server-options.ts'
import { durationText } from '../base/text.ts'
import { type Database, type Db, PRIVATE_SCHEMA, sql } from './database.ts'
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

  constructor(version: string) {
    super(`the database is PostgreSQL ${version}; farewatch needs ${OLDEST_MAJOR} or newer`)
  }
}

/** Between us and the server is a pooler that gives a session to others between two transactions. */
export class DatabasePoolerError extends AppError {
  override readonly name = 'DatabasePoolerError'
  override readonly code = 'db.pooler'

  constructor(options?: ErrorOptions) {
    super(
      'DATABASE_URL leads to a connection pooler that does not keep sessions, such as PgBouncer in transaction mode: farewatch ' +
        'listens for notifications, holds locks and sets options for a whole session. Name PostgreSQL itself, or use pool_mode = session',
      options,
    )
  }
}

/** The database takes no writes: a failover made it a standby, or its host has no space left. */
class DatabaseReadOnlyError extends AppError {
  override readonly name = 'DatabaseReadOnlyError'
  override readonly code = 'db.read_only'
  override readonly retryable = true

  constructor() {
    super(
      'PostgreSQL takes no writes now (transaction_read_only is on): work waits, and reads go on',
    )
  }
}

const WRITABLE = `select current_setting('transaction_read_only') = 'off' as writable`

export async function isWritable(db: Db): Promise<boolean> {
  return (await selectOne(sql<{ writable: boolean }>`${sql.raw(WRITABLE)}`, db)).writable
}

/** Throws unless the database answers and takes writes. */
export async function assertWritable(db: Db): Promise<void> {
  if (!(await isWritable(db))) throw new DatabaseReadOnlyError()
}

/** PostgreSQL's code for a setting that it does not know: those that we connect with are of 14. */
const UNKNOWN_SETTING = '42704'
/** What PgBouncer says of the options of a session. */
const REFUSED_OPTIONS = /unsupported startup parameter/

function connectError(url: string, err: unknown): AppError {
  if ((err as { code?: unknown }).code === UNKNOWN_SETTING)
    return new DatabaseTooOldError('13 or older')
  if (REFUSED_OPTIONS.test(messageOf(err))) return new DatabasePoolerError({ cause: err })
  return new DatabaseUnreachableError(url, err)
}

interface Facts {
  readonly version: string
  readonly schema: string
  /** Whether the server that answers is another process than the one that we connected to. */
  readonly pooled: boolean
}

/**
 * Returns the server's version text. Throws unless the database answers, is new enough, and keeps what a session sets.
 */
export async function probeDatabase(
  { pool }: Pick<Database, 'pool'>,
  url: string,
): Promise<string> {
  const client = await pool.connect().catch((err: unknown) => {
    throw connectError(url, err)
  })
  try {
    // A member of every client that its types lack.
    const { processID = 0 } = client as { processID?: number }
    const { rows } = await client
      .query<Facts>(
        `select current_setting('server_version') as version, current_setting('search_path') as schema,
                pg_backend_pid() <> $1 as pooled`,
        [processID],
      )
      .catch((err: unknown) => {
        throw new DatabaseUnreachableError(url, err)
      })
    const { version = '', schema, pooled = false } = rows[0] ?? {}
    if (Number.parseInt(version, 10) < OLDEST_MAJOR) throw new DatabaseTooOldError(version)
    if (schema !== PRIVATE_SCHEMA) throw new DatabasePoolerError()
    if (pooled) await assertOwnSession(pool, client)
    return version
  } finally {
    client.release()
  }
}

/** A session is shared if, while a transaction of another one runs, either sees what the first one has set, or not. */
async function assertOwnSession(pool: pg.Pool, client: pg.PoolClient): Promise<void> {
  const markOf = async (one: pg.PoolClient) => {
    const text = `select current_setting('farewatch.session', true) as mark`
    return (await one.query<{ mark: string | null }>(text)).rows[0]?.mark
  }
  const mark = randomUUID()
  await client.query(`select set_config('farewatch.session', $1, false)`, [mark])
  const other = await pool.connect()
  try {
    await other.query('begin')
    const isShared = (await markOf(other)) === mark || (await markOf(client)) !== mark
    await other.query('rollback')
    if (isShared) throw new DatabasePoolerError()
  } finally {
    other.release()
  }
}

/**
 * Reads on a new connection whether the database takes writes. Rejects after `timeoutMs`, and if it takes none.
 *
 * The connection is outside the pool: an exhausted or stalled pool does not mean that the database is down.
 */
export async function pingDatabase(url: string, timeoutMs: number): Promise<void> {
  const { connectionString, serverOptions } = takeServerOptions(url)
  const client = new pg.Client({
    connectionString,
    options: serverOptions,
    application_name: 'farewatch ping',
    connectionTimeoutMillis: timeoutMs,
    query_timeout: timeoutMs,
  })
  // A lost connection also fails the query. Without a listener the event would end the process.
  client.on('error', () => undefined)
  try {
    await client.connect()
    const { rows } = await client.query<{ writable: boolean }>(WRITABLE)
    if (rows[0]?.writable !== true) throw new DatabaseReadOnlyError()
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

/** Whether a statement took longer than it may, which a lock or an overloaded database makes it do. */
export function isStatementTimeout(thrown: unknown): boolean {
  return thrown instanceof pg.DatabaseError && thrown.code === '57014'
}

/** 57014: the statement timed out, as it does on an overloaded database. 53100: the disk is full. */
const SQL_STATES = /^(57014|57P0[123]|08...|53100|53300|25006)$/
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
  if (thrown instanceof LockHeldError || thrown instanceof DatabaseReadOnlyError) return true
  const { code } = thrown as { code?: unknown }
  if (typeof code === 'string' && (SQL_STATES.test(code) || SOCKET_CODES.has(code))) return true
  if (thrown instanceof AggregateError && thrown.errors.some(isDatabaseUnavailable)) return true
  return DRIVER_MESSAGES.test(thrown.message)
}
