import { messageOf } from '../platform/base/errors.ts'
import type { Logger } from '../platform/base/logger.ts'
import { openDatabase, sql } from '../platform/db/database.ts'
import { poll, postgresProcessesIn } from './live-process.ts'
import { EmbeddedPostgresError } from './postgres-errors.ts'
import type { Place } from './postgres-place.ts'
import { findPostmaster, isStopped, stopServer } from './postmaster.ts'
import { livingEntries } from './presence.ts'

/** A server that is found may be starting, recovering or stopping. */
const ANSWER_TIMEOUT_MS = 30_000

export type UrlOfPort = (port: number) => string

/**
 * The port of the server that runs already, whether its starter lives or was killed.
 *
 * Undefined if none runs. A server that does not accept our password is stopped. Throws `embedded.silent` if living
 * processes use it, because stopping it would not help them. Call it under the lock of the place.
 */
export async function adoptServer(
  place: Place,
  urlOf: UrlOfPort,
  log: Logger,
): Promise<number | undefined> {
  if ((await postgresProcessesIn(place.data)).length === 0) return undefined
  let last: PingResult = { kind: 'silent', reason: 'it accepts no connections' }
  const found = await poll(
    async () => {
      const server = await findPostmaster(place.data)
      if (server === undefined) return 'stopped'
      if (!server.ready) return undefined
      last = await pingServer(urlOf(server.port), log)
      if (last.kind === 'answers') return server.port
      return last.kind === 'refused' ? 'refused' : undefined
    },
    { timeoutMs: ANSWER_TIMEOUT_MS, everyMs: 100 },
  )
  if (typeof found === 'number') return found
  await stopSilentServer(place, 'reason' in last ? last.reason : '', log)
  return undefined
}

async function stopSilentServer(place: Place, reason: string, log: Logger): Promise<void> {
  // It may be stopping already.
  if (await poll(() => isStopped(place.data), { timeoutMs: 1_000, everyMs: 50 })) return
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

/** `refused`: the password is wrong. `silent`: every other failure. */
type PingResult =
  | { readonly kind: 'answers' }
  | { readonly kind: 'refused' | 'silent'; readonly reason: string }

/** SQLSTATE class 28: invalid authorization. */
const REFUSED = /^28/

/** Connects and runs one query. Each waits at most five seconds. */
export async function pingServer(url: string, log: Logger): Promise<PingResult> {
  const database = openDatabase({
    url,
    log,
    applicationName: 'farewatch supervisor',
    maxConnections: 1,
    statementTimeoutMs: 5_000,
  })
  // A server that dies during the query also emits this event.
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
