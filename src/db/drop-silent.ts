import type { PostgresPool, PostgresPoolClient } from 'kysely'
import type pg from 'pg'

/** The server ends a statement at its timeout: an answer that has not come this much later will not come. */
const MARGIN_MS = 5_000
/** A transaction that gives its own statements longer: none of ours gives them more than this. */
const LONGER = /^\s*set local statement_timeout/i
const LONGEST_STATEMENT_MS = 15 * 60_000
/** What pg says where no answer came in time. */
const NO_ANSWER = 'Query read timeout'

/**
 * The pool as kysely uses it, but without connections that fell silent.
 *
 * Of a peer that vanished, by a failover or a firewall that forgot the connection, no word comes, and pg would wait
 * for it without end. Told to give up, it keeps the connection, and whoever gets it next waits as long for nothing.
 * Here whatever else its user asks fails at once, and its release closes it.
 */
export function dropSilent(
  pool: pg.Pool,
  { statementTimeoutMs }: { readonly statementTimeoutMs: number },
): PostgresPool {
  return {
    options: pool.options,
    connect: async () => watchAnswers(await pool.connect(), statementTimeoutMs),
    end: () => pool.end(),
  }
}

function watchAnswers(client: pg.PoolClient, statementTimeoutMs: number): PostgresPoolClient {
  let longestMs = statementTimeoutMs
  let silence: unknown
  const query = async (text: string, values: unknown[]) => {
    if (silence !== undefined) throw silence
    if (LONGER.test(text)) longestMs = Math.max(longestMs, LONGEST_STATEMENT_MS)
    const question = { text, values, query_timeout: longestMs + MARGIN_MS }
    try {
      return await client.query(question)
    } catch (err) {
      if (err instanceof Error && err.message === NO_ANSWER) silence = err
      throw err
    }
  }
  return {
    // The other form takes a cursor, which nobody has.
    query: query as unknown as PostgresPoolClient['query'],
    release: (destroy) => client.release(destroy === true || silence !== undefined),
  }
}
