import { hash } from 'node:crypto'
import {
  Kysely,
  PostgresAdapter,
  PostgresDialect,
  type PostgresPool,
  type PostgresPoolClient,
  sql,
  type Transaction,
} from 'kysely'
import pg from 'pg'
import type { Logger } from '../base/logger.ts'
import type { ResellerId } from '../base/reseller-id.ts'
import { takeServerOptions } from '../base/server-options.ts'
import type { DB } from './tables.ts'

export { type AliasedRawBuilder, type RawBuilder, sql } from 'kysely'

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

/** A connection that is gone has no lock: its failure to release one would hide why a migration failed. */
class Adapter extends PostgresAdapter {
  override async releaseMigrationLock(
    ...args: Parameters<PostgresAdapter['releaseMigrationLock']>
  ) {
    await super.releaseMigrationLock(...args).catch(() => undefined)
  }
}

class Dialect extends PostgresDialect {
  override createAdapter(): Adapter {
    return new Adapter()
  }
}

/** Connections with statements that still run so long after their pool began to close are cut: the server then ends them. */
const CLOSE_MS = 500

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
  const busy = new Set<pg.ClientBase>()
  pool.on('acquire', (client) => busy.add(client))
  pool.on('release', (_, client) => busy.delete(client))
  const dialect = new Dialect({ pool: withQueryTimeouts(pool, statementTimeoutMs) })
  const db = new Kysely<DB>({ dialect })
  const close = async () => {
    closing = true
    const timer = setTimeout(() => {
      for (const client of busy) void (client as pg.Client).end()
    }, CLOSE_MS)
    try {
      await db.destroy()
      // Kysely leaves a pool alone that it has never used.
      if (!pool.ending) await pool.end()
    } finally {
      clearTimeout(timer)
    }
  }
  return { db, pool, close }
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

/** The server cancels a statement at its timeout. The client waits this much longer, then gives up. */
const MARGIN_MS = 5_000
/** A transaction may raise the timeout of its own statements, up to the limit below. */
const RAISES_TIMEOUT = /^\s*set local statement_timeout/i
const LONGEST_STATEMENT_MS = 15 * 60_000
/** pg's message when its `query_timeout` passes. */
const PG_TIMEOUT = 'Query read timeout'

/**
 * Wraps the pool for kysely: a query fails when its connection no longer answers, and the connection is closed.
 *
 * A peer that vanished (a failover, a firewall that dropped the connection) never resets the connection, and pg would
 * wait without end. With `query_timeout` alone pg would return the dead connection to the pool, and its next user
 * would wait as long. Here every later query on that connection fails at once, and releasing it closes it.
 */
function withQueryTimeouts(pool: pg.Pool, statementTimeoutMs: number): PostgresPool {
  return {
    options: pool.options,
    connect: async () => limitQueries(await pool.connect(), statementTimeoutMs),
    end: () => pool.end(),
  }
}

/**
 * Begins or ends a statement that runs with every batch of checks. Each connection then plans it once or a few
 * times, and not in every batch. Only for statements with a fixed list of columns, and without parameters that
 * decide which plan is good.
 */
const PREPARED_TEXT = '/* prepared */'
export const PREPARED = sql.raw(PREPARED_TEXT)
const names = new Map<string, string>()

function preparedName(text: string): { name?: string } {
  if (!text.trimStart().startsWith(PREPARED_TEXT) && !text.endsWith(PREPARED_TEXT)) return {}
  const name = names.get(text) ?? `farewatch_${hash('sha1', text).slice(0, 16)}`
  names.set(text, name)
  return { name }
}

function limitQueries(client: pg.PoolClient, statementTimeoutMs: number): PostgresPoolClient {
  let longestMs = statementTimeoutMs
  let timeout: unknown
  const query = async (text: string, values: unknown[]) => {
    if (timeout !== undefined) throw timeout
    if (RAISES_TIMEOUT.test(text)) longestMs = Math.max(longestMs, LONGEST_STATEMENT_MS)
    const config = { text, values, query_timeout: longestMs + MARGIN_MS, ...preparedName(text) }
    try {
      return await client.query(config)
    } catch (err) {
      if (err instanceof Error && err.message === PG_TIMEOUT) timeout = err
      throw err
    }
  }
  return {
    // kysely's type also has a form that takes a cursor. Nothing here uses cursors.
    query: query as unknown as PostgresPoolClient['query'],
    release: (destroy) => client.release(destroy === true || timeout !== undefined),
  }
}
