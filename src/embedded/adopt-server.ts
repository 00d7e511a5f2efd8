import { messageOf } from '../base/errors.ts'
import type { Logger } from '../base/logger.ts'
import { openDatabase, sql } from '../db/database.ts'
import { poll, postgresProcessesIn } from './live-process.ts'
import { EmbeddedPostgresError } from './postgres-errors.ts'
import type { Place } from './postgres-place.ts'
import { findPostmaster, isGone, stopServer } from './postmaster.ts'
import { livingEntries } from './presence.ts'

/** A server may be starting, recovering or stopping when it is found. */
const SETTLE_TIMEOUT_MS = 30_000

export type UrlOfPort = (port: number) => string

/**
 * The port of the server that runs already, started by a process that lives or by one that was killed.
 *
 * Undefined where none runs. One that does not answer with our password is stopped and counts as none, unless
 * living processes use it: then `embedded.silent`, for ending their server would not help them.
 * Call it under the place's lock.
 */
export async function adoptServer(
  place: Place,
  urlOf: UrlOfPort,
  log: Logger,
): Promise<number | undefined> {
  if ((await postgresProcessesIn(place.data)).length === 0) return undefined
  let last: ServerAnswer = { kind: 'silent', reason: 'it takes no connections' }
  const settled = await poll(
    async () => {
      const server = await findPostmaster(place.data)
      if (server === undefined) return 'gone'
      if (!server.ready) return undefined
      last = await askServer(urlOf(server.port), log)
      if (last.kind === 'answers') return server.port
      return last.kind === 'refused' ? 'refused' : undefined
    },
    { timeoutMs: SETTLE_TIMEOUT_MS, everyMs: 100 },
  )
  if (typeof settled === 'number') return settled
  await endServer(place, 'reason' in last ? last.reason : '', log)
  return undefined
}

async function endServer(place: Place, reason: string, log: Logger): Promise<void> {
  // What is on its way out needs no help.
  const gone = await poll(() => isGone(place.data), { timeoutMs: 1_000, everyMs: 50 })
  if (gone) return
  const pids = await postgresProcessesIn(place.data)
  const users = (await livingEntries(place.users)).map((name) => name.split('-')[0])
  if (users.length > 0) {
    throw new EmbeddedPostgresError(
      'silent',
      `the embedded PostgreSQL in ${place.directory} runs but does not answer (${reason}), and process ` +
        `${users.join(', ')} uses it: try again, or end that process first`,
    )
  }
  log.warn({ pids, reason }, 'embedded postgres of a killed process does not answer: stopping it')
  await stopServer(place.data, log)
}

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
