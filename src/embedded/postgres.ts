import { resolve } from 'node:path'
import type { Logger } from '../base/logger.ts'
import { adoptServer, pingServer, type UrlOfPort } from './adopt-server.ts'
import { DATABASE, ensureData, readPassword, type Settings, SUPERUSER } from './postgres-data.ts'
import { EmbeddedPostgresError, explainSystemError } from './postgres-errors.ts'
import { findPlace, type Place } from './postgres-place.ts'
import { stopServer } from './postmaster.ts'
import { enter, exclusively, livingEntries, type Presence } from './presence.ts'
import { stopFormerServers } from './service-directory.ts'
import { startOnFreePort } from './start-server.ts'

export interface EmbeddedPostgres {
  /** Contains the password of the superuser: never log it. */
  readonly url: string
  readonly port: number
  /** Whether this call started the server; false if it joined a running one. */
  readonly startedHere: boolean
  /** The last process that releases the server stops it. Safe to call twice. */
  release(): Promise<void>
}

interface EmbeddedPostgresOptions {
  /** FAREWATCH_HOME: absolute, or relative to the working directory. */
  readonly home: string
  readonly log: Logger
  /** More server settings, if this call starts the server. `fsync: 'off'` also speeds up initdb. */
  readonly settings?: Settings
}

/**
 * Starts the embedded PostgreSQL of `home`, or joins the one that runs.
 *
 * The last process that releases it stops it. If that process was killed, the server runs on and the next caller joins
 * it. All errors are EmbeddedPostgresErrors.
 */
export async function acquireEmbeddedPostgres(
  options: EmbeddedPostgresOptions,
): Promise<EmbeddedPostgres> {
  const home = resolve(options.home)
  try {
    const place = await findPlace(home)
    return await exclusively(place.lock, () => joinOrStart(place, options))
  } catch (err) {
    throw explainSystemError(err, home)
  }
}

async function joinOrStart(
  place: Place,
  { log, settings = {} }: EmbeddedPostgresOptions,
): Promise<EmbeddedPostgres> {
  const startedAt = performance.now()
  const madeData = await ensureData(place, settings)
  if (madeData) await stopFormerServers(place.home, place.directory, log)
  const password = await readPassword(place)
  const urlOf: UrlOfPort = (port) =>
    `postgres://${SUPERUSER}:${password}@127.0.0.1:${port}/${DATABASE}`

  const running = await adoptServer(place, urlOf, log)
  const port = running ?? (await start(place, urlOf, { log, settings }))
  const presence = await enter(place.users)
  const startedHere = running === undefined
  log.info(
    { port, startedHere, madeData, ms: Math.round(performance.now() - startedAt) },
    'embedded postgres ready',
  )
  return { url: urlOf(port), port, startedHere, release: releaseOnce(place, presence, log) }
}

async function start(
  place: Place,
  urlOf: UrlOfPort,
  { log, settings }: { log: Logger; settings: Settings },
): Promise<number> {
  const port = await startOnFreePort(place, settings)
  const answer = await pingServer(urlOf(port), log)
  if (answer.kind === 'answers') return port
  await stopServer(place.data, log)
  const reason = `the embedded PostgreSQL in ${place.directory} started but did not answer: ${answer.reason}`
  throw answer.kind === 'refused'
    ? new EmbeddedPostgresError(
        'password_unknown',
        `${reason}; restore ${place.passwordFile}, or move ${place.data} away to start with an empty database`,
      )
    : new EmbeddedPostgresError('silent', `${reason}; try again`)
}

function releaseOnce(place: Place, presence: Presence, log: Logger): () => Promise<void> {
  let released: Promise<void> | undefined
  const release = async () => {
    await presence.leave()
    if ((await livingEntries(place.users)).length > 0) return
    await stopServer(place.data, log)
    log.info('embedded postgres stopped')
  }
  return () => {
    released ??= exclusively(place.lock, release).catch((err: unknown) => {
      released = undefined
      throw err
    })
    return released
  }
}
