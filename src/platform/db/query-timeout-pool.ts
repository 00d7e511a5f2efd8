import { hash } from 'node:crypto'
import type { PostgresPool, PostgresPoolClient } from 'kysely'
import type pg from 'pg'

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
export function withQueryTimeouts(
  pool: pg.Pool,
  { statementTimeoutMs }: { readonly statementTimeoutMs: number },
): PostgresPool {
  return {
    options: pool.options,
    connect: async () => limitQueries(await pool.connect(), statementTimeoutMs),
    end: () => pool.end(),
  }
}

/**
 * Begins or ends a statement that runs with every batch of checks. Each connection then plans it once or a few times, and not in
 * every batch. Only for statements with a fixed list of columns, and without parameters that decide which plan is good.
 */
export const PREPARED = '/* prepared */'
const names = new Map<string, string>()

function preparedName(text: string): { name?: string } {
  if (!text.trimStart().startsWith(PREPARED) && !text.endsWith(PREPARED)) return {}
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
