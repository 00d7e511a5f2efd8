import { Kysely, PostgresDialect, type Transaction } from 'kysely'
import pg from 'pg'
import type { Logger } from '../base/logger.ts'
import { dropSilent } from './drop-silent.ts'
import type { DB } from './tables.ts'

export { type RawBuilder, sql } from 'kysely'

/** Reads, or opens a transaction of its own. */
export type Db = Kysely<DB>
/** Writes in the caller's transaction. */
export type Tx = Transaction<DB>

export interface DatabaseOptions {
  readonly url: string
  /** Shown in pg_stat_activity: which process holds what. */
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

/** Our tables live apart from the public views, and from whatever else the database holds. */
export const PRIVATE_SCHEMA = 'farewatch_private'

const INT8_OID = 20
/** Probes of an idle connection begin after this long: the system's own two hours are no use to anybody. */
const KEEP_ALIVE_MS = 10_000

/**
 * A backend that waits for a lock, or computes, does not see by itself that its process was killed, and would
 * keep that process's locks until it is done.
 */
const NOTICE_DEAD_CLIENTS = [
  '-c client_connection_check_interval=2s',
  // Of a host that vanished only probes can tell.
  '-c tcp_keepalives_idle=30',
  '-c tcp_keepalives_interval=10',
  '-c tcp_keepalives_count=3',
].join(' ')

/**
 * Opens the pool. Nothing connects until the first query.
 *
 * `int8` arrives as a number: our sequences and counts stay far below 2^53. `numeric` stays text: money is
 * never a float.
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
    // Of two settings of one name the later one holds.
    options: `${serverOptions} -c search_path=${PRIVATE_SCHEMA} -c timezone=UTC ${NOTICE_DEAD_CLIENTS}`,
    types: { getTypeParser: typeParser },
  })
  // Without a listener a connection that dies while idle would end the process.
  pool.on('error', (err) => options.log.warn({ err }, 'idle database connection lost'))
  // A connection that is cut while it is checked out tells its user by the query; its event has no other listener.
  pool.on('connect', (client) => {
    client.on('error', (err) => options.log.warn({ err }, 'database connection lost'))
  })
  const dialect = new PostgresDialect({ pool: dropSilent(pool, { statementTimeoutMs }) })
  const db = new Kysely<DB>({ dialect })
  return { db, pool, close: () => db.destroy() }
}

/** The URL without its `options`, which would replace ours, and those. */
function takeServerOptions(url: string): { connectionString: string; serverOptions: string } {
  const parsed = new URL(url)
  const serverOptions = parsed.searchParams.get('options')
  if (serverOptions === null) return { connectionString: url, serverOptions: '' }
  parsed.searchParams.delete('options')
  return { connectionString: parsed.href, serverOptions }
}

function typeParser(oid: number, format?: 'text' | 'binary') {
  if (oid === INT8_OID && format !== 'binary') return Number
  return pg.types.getTypeParser(oid, format)
}
