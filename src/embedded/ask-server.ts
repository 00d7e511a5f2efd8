import { messageOf } from '../base/errors.ts'
import type { Logger } from '../base/logger.ts'
import { openDatabase, sql } from '../db/database.ts'

/** `refused`: it wants another password. `silent`: every other failure. */
export type ServerAnswer =
  | { readonly kind: 'answers' }
  | { readonly kind: 'refused' | 'silent'; readonly reason: string }

/** SQLSTATE class 28: invalid authorization. */
const REFUSED = /^28/

/** Asks the server for one row, on a connection of its own. Waits at most five seconds for each. */
export async function askServer(url: string, log: Logger): Promise<ServerAnswer> {
  const database = openDatabase({
    url,
    log,
    applicationName: 'farewatch supervisor',
    maxConnections: 1,
    statementTimeoutMs: 5_000,
  })
  // A server that dies between question and answer fails the question, and emits this besides.
  database.pool.on('connect', (client) => client.on('error', () => undefined))
  try {
    await sql`select 1`.execute(database.db)
    return { kind: 'answers' }
  } catch (err) {
    const code = err instanceof Error && 'code' in err ? String(err.code) : ''
    return { kind: REFUSED.test(code) ? 'refused' : 'silent', reason: messageOf(err) }
  } finally {
    await database.close()
  }
}
