import { resolve } from 'node:path'
import type { Logger } from '../base/logger.ts'
import { adoptServer, askServer, type UrlOfPort } from './adopt-server.ts'
import { postgresProcessesIn } from './live-process.ts'
import { DATABASE, ensureData, readPassword, type Settings, SUPERUSER } from './postgres-data.ts'
import { EmbeddedPostgresError, explainSystemError } from './postgres-errors.ts'
import { findPlace, type Place } from './postgres-place.ts'
import { stopServer } from './postmaster.ts'
import { enter, exclusively, livingEntries, type Presence } from './presence.ts'
import { stopFormerServers } from './service-directory.ts'
import { choosePort, isFree, startServer } from './start-server.ts'

export interface EmbeddedPostgres {
  /** Of the superuser, with the password: for `pg` alone, never for a log. */
  readonly url: string
  readonly port: number
  /** Whether this call started the server; false where it attached to one that ran. */
  readonly startedHere: boolean
  /** Lets go of the server; the last to do so stops it. Safe to call twice. */
  release(): Promise<void>
}

export interface EmbeddedPostgresOptions {
  /** FAREWATCH_HOME: absolute, or relative to the working directory. */
  readonly home: string
  readonly log: Logger
  /** Further server settings, for a server that this call starts. `fsync: 'off'` also hurries initdb. */
  readonly settings?: Settings
}

/**
 * The private PostgreSQL of `home`: started, or, where another process of this home runs it, attached to.
 *
 * Every process that uses it is counted, and the last that releases stops it. A process that ends without
 * release leaves the server to the next caller. All errors are EmbeddedPostgresErrors.
 */
export async function acquireEmbeddedPostgres(
  options: EmbeddedPostgresOptions,
): Promise<EmbeddedPostgres> {
  const home = resolve(options.home)
  try {
    const place = await findPlace(home)
    return await exclusively(place.lock, () => attachOrStart(place, options))
  } catch (err) {
    throw explainSystemError(err, home)
  }
}

async function attachOrStart(
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
  const answer = await askServer(urlOf(port), log)
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

/** A program that takes the port between the look at it and the start gets it; we take the next. */
async function startOnFreePort(place: Place, settings: Settings): Promise<number> {
  const port = await choosePort(place)
  try {
    await startServer(place, port, settings)
    return port
  } catch (err) {
    const isUp = (await postgresProcessesIn(place.data)).length > 0
    if (isUp || (await isFree(port))) throw err
  }
  const next = await choosePort(place)
  await startServer(place, next, settings)
  return next
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
