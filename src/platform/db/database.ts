import { Kysely, PostgresDialect, sql, type Transaction } from 'kysely'
import pg from 'pg'
import type { Logger } from '../base/logger.ts'
import type { ResellerId } from '../base/reseller-id.ts'
import { PREPARED as PREPARED_TEXT, withQueryTimeouts } from './query-timeout-pool.ts'
import type { DB } from './tables.ts'

export { type RawBuilder, sql } from 'kysely'

/** The beginning or the end of a prepared statement: see query-timeout-pool.ts. */
export const PREPARED = sql.raw(PREPARED_TEXT)

/** For reads, and for functions that open their own transaction. */
export type Db = Kysely<DB>
/** For functions that write in the caller's transaction. */
export type Tx = Transaction<DB>

/**
 * The database on behalf of one reseller. A query of a reseller's data takes a Tenant instead of a `Db` and an id, so
 * that no caller can forget the id.
 */
export interface Tenant {
  readonly db: Db
  readonly resellerId: ResellerId
}

export interface DatabaseOptions {
  readonly url: string
  /** Shown in pg_stat_activity. */
  readonly applicationName: string
  readonly log: Logger
  readonly maxConnections?: number
  readonly statementTimeoutMs?: number
}

export interface Database {
  readonly db: Db
  readonly pool: pg.Pool
  close(): Promise<void>
}

/** The schema of our tables. The public views have their own schema, `farewatch`. */
export const PRIVATE_SCHEMA = 'farewatch_private'

const INT8_OID = 20
const INT8_ARRAY_OID = 1016
/** TCP probes of an idle connection begin after this time. The system's default is two hours. */
const KEEP_ALIVE_MS = 10_000

/**
 * A backend that computes or waits for a lock does not notice that its client was killed. Without these settings it
 * would keep the client's locks until its statement ends.
 */
const DETECT_DEAD_CLIENTS = [
  '-c client_connection_check_interval=2s',
  // When the client's host vanishes, nothing but a TCP probe notices.
  '-c tcp_keepalives_idle=30',
  '-c tcp_keepalives_interval=10',
  '-c tcp_keepalives_count=3',
].join(' ')

/**
 * Opens the pool. Nothing connects until the first query.
 *
 * `int8` is read as a number: our sequences and counts stay far below 2^53. `numeric` stays text: money is never a
 * float.
 */
export function openDatabase(options: DatabaseOptions): Database {
  const { connectionString, serverOptions } = takeServerOptions(options.url)
  const statementTimeoutMs = options.statementTimeoutMs ?? 60_000
  const pool = new pg.Pool({
    connectionString,
    application_name: options.applicationName,
    max: options.maxConnections ?? 10,
    connectionTimeoutMillis: 5_000,
    idleTimeoutMillis: 30_000,
    statement_timeout: statementTimeoutMs,
    idle_in_transaction_session_timeout: 60_000,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
    // When a setting is given twice, the later value counts.
    options: `${serverOptions} -c search_path=${PRIVATE_SCHEMA} -c timezone=UTC ${DETECT_DEAD_CLIENTS}`,
    types: { getTypeParser: typeParser },
  })
  // The server may end a connection that is being closed: when an embedded one stops.
  let closing = false
  const warn = (err: Error, msg: string) => {
    if (!closing) options.log.warn({ err }, msg)
  }
  // Without a listener the loss of an idle connection would end the process.
  pool.on('error', (err) => warn(err, 'idle database connection lost'))
  // A checked-out connection that is lost also fails its query. Without a listener the event would end the process.
  pool.on('connect', (client) => {
    client.on('error', (err) => warn(err, 'database connection lost'))
  })
  const dialect = new PostgresDialect({ pool: withQueryTimeouts(pool, { statementTimeoutMs }) })
  const db = new Kysely<DB>({ dialect })
  const close = async () => {
    closing = true
    await db.destroy()
    // Kysely leaves a pool alone that it has never used.
    if (!pool.ending) await pool.end()
  }
  return { db, pool, close }
}

/** Splits `options` off the URL: in the URL they would replace ours. */
function takeServerOptions(url: string): { connectionString: string; serverOptions: string } {
  const parsed = new URL(url)
  const serverOptions = parsed.searchParams.get('options')
  if (serverOptions === null) return { connectionString: url, serverOptions: '' }
  parsed.searchParams.delete('options')
  return { connectionString: parsed.href, serverOptions }
}

/** `{1,2}` as an array of numbers. */
function readNumbers(text: string): number[] {
  return text === '{}' ? [] : text.slice(1, -1).split(',').map(Number)
}

function typeParser(oid: number, format?: 'text' | 'binary') {
  if (oid === INT8_OID && format !== 'binary') return Number
  if (oid === INT8_ARRAY_OID && format !== 'binary') return readNumbers
  return pg.types.getTypeParser(oid, format)
}
