import { resolve } from 'node:path'
import { nameFullDisk } from '../platform/base/errors.ts'
import type { Logger } from '../platform/base/logger.ts'
import { adoptServer, pingServer, type UrlOfPort } from './adopt-server.ts'
import { DATABASE, ensureData, readPassword, type Settings, SUPERUSER } from './postgres-data.ts'
import { EmbeddedPostgresError, explainSystemError } from './postgres-errors.ts'
import { findPlace, type Place } from './postgres-place.ts'
import { findPostmaster, stopServer, stopServerSync } from './postmaster.ts'
import { enter, exclusively, hasOthersSync, livingEntries, type Presence } from './presence.ts'
import { stopFormerServers } from './service-directory.ts'
import { isShared } from './service-user.ts'
import { startOnFreePort, startServer, tailOfLogs } from './start-server.ts'

/** What a server that was acquired does now. The reason of a server that died is the end of its log. */
export type ServerState =
  | { readonly kind: 'answers' }
  | { readonly kind: 'silent' | 'died'; readonly reason: string }

export interface EmbeddedPostgres {
  /** Contains the password of the superuser: never log it. */
  readonly url: string
  readonly port: number
  /** Where the data lies: as root, outside of FAREWATCH_HOME. */
  readonly directory: string
  /** Whether this call started the server; false if it joined a running one. */
  readonly startedHere: boolean
  /** Whether this call created the database, which is then empty. */
  readonly madeData: boolean
  check(): Promise<ServerState>
  /** Starts a server that died again, on its port. Does nothing if another process did. */
  restart(): Promise<void>
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
    const cancel = stopAtExit(place)
    try {
      return await exclusively(place.lock, () => joinOrStart(place, options, cancel))
    } catch (err) {
      cancel()
      throw err
    }
  } catch (err) {
    throw explainSystemError(err, home)
  }
}

/**
 * Stops the server if this process exits without a release, as after a second signal, and no other process uses it. Returns
 * the function that cancels this.
 */
function stopAtExit({ users, data }: Place): () => void {
  const stop = () => {
    if (!hasOthersSync(users)) stopServerSync(data)
  }
  process.once('exit', stop)
  return () => void process.off('exit', stop)
}

const SHARED_USER =
  'embedded postgres runs as a user that other programs share: they could read its data'

async function joinOrStart(
  place: Place,
  { log, settings = {} }: EmbeddedPostgresOptions,
  cancelStop: () => void,
): Promise<EmbeddedPostgres> {
  const startedAt = performance.now()
  const madeData = await ensureData(place, settings)
  if (place.user !== undefined && isShared(place.user)) {
    log.warn({ user: place.user.name, data: place.data }, SHARED_USER)
  }
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
  const url = urlOf(port)
  const { restart, release } = superviseServer(place, { presence, cancelStop, log }, () =>
    startServer(place, port, settings),
  )
  const { directory } = place
  return {
    ...{ url, port, directory, startedHere, madeData, restart, release },
    check: () => checkServer(place, url, log),
  }
}

/** A new connection is used: a pool may be exhausted although the server answers. */
async function checkServer(place: Place, url: string, log: Logger): Promise<ServerState> {
  const answer = await pingServer(url, log)
  if (answer.kind === 'answers') return answer
  if ((await findPostmaster(place.data)) !== undefined) {
    return { kind: 'silent', reason: answer.reason }
  }
  return { kind: 'died', reason: nameFullDisk(await tailOfLogs(place)) }
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

interface Supervision {
  readonly presence: Presence
  readonly cancelStop: () => void
  readonly log: Logger
}

/** Restarts and releases a server, one at a time. A released server is not started again. */
function superviseServer(
  place: Place,
  { presence, cancelStop, log }: Supervision,
  startAgain: () => Promise<void>,
): Pick<EmbeddedPostgres, 'restart' | 'release'> {
  let released: Promise<void> | undefined
  const restart = async () => {
    if (released !== undefined || (await findPostmaster(place.data)) !== undefined) return
    // The processes of a killed server may still run.
    await stopServer(place.data, log)
    await startAgain()
  }
  const release = async () => {
    await presence.leave()
    if ((await livingEntries(place.users)).length === 0) {
      await stopServer(place.data, log)
      log.info('embedded postgres stopped')
    }
    cancelStop()
  }
  return {
    restart: () => exclusively(place.lock, restart),
    release: () => {
      released ??= exclusively(place.lock, release).catch((err: unknown) => {
        released = undefined
        throw err
      })
      return released
    },
  }
}
