import type { ChildProcess } from 'node:child_process'
import { chmodSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { resolve } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { AppError, messageOf, nameFullDisk } from '../platform/base/errors.ts'
import type { Logger } from '../platform/base/logger.ts'
import { isRunning } from '../platform/base/running-pid.ts'
import { openDatabase, sql } from '../platform/db/database.ts'
import { isDatabaseUnavailable } from '../platform/db/database-health.ts'
import {
  DATABASE,
  ensureData,
  ensureOwner,
  OWNER,
  readPassword,
  type Settings,
} from './postgres-data.ts'
import {
  EmbeddedPostgresError,
  explainSystemError,
  hasCode,
  OR_SET_DATABASE_URL,
  undefinedIfMissing,
} from './postgres-errors.ts'
import { findData, findPlace, type Place } from './postgres-place.ts'
import { isShared } from './root-place.ts'
import { findPostmaster, poll, postgresProcessesIn, stopServer } from './server-process.ts'
import { choosePort, hasEnded, startServer, tailOfLog } from './start-server.ts'

/** What a server does now. The reason of a server that died is the end of its log. */
export type ServerState =
  | { readonly kind: 'answers' }
  | { readonly kind: 'silent' | 'died' | 'deleted'; readonly reason: string }

/** What the owner of a server can do with it. */
export interface Supervision {
  check(): Promise<ServerState>
  /** Starts a server that died again, on its port. */
  restart(): Promise<void>
  /** What the server wrote last, if that may explain the error. */
  explain(err: unknown): Promise<unknown>
}

export interface EmbeddedPostgres {
  /** Contains the password of the owner: never log it. */
  readonly url: string
  readonly port: number
  /** Where the data lies: as root, outside of FAREWATCH_HOME. */
  readonly directory: string
  /** Whether this call created the database, which is then empty. */
  readonly madeData: boolean
  /** Absent for a command that uses the server of another process. */
  readonly supervision?: Supervision
  /** Stops the server if this process owns it. Safe to call twice. */
  release(): Promise<void>
}

interface EmbeddedPostgresOptions {
  /** FAREWATCH_HOME: absolute, or relative to the working directory. */
  readonly home: string
  readonly log: Logger
  /** More server settings. `fsync: 'off'` also speeds up initdb. */
  readonly settings?: Settings
  /** Whether to use the server of another process if one owns the data. */
  readonly join?: boolean
}

/** A process that is ending, or a short command, may own the data for a moment. */
const OWN_TIMEOUT_MS = 5_000
/** The owner may run initdb on a slow disk, or recover. */
const JOIN_TIMEOUT_MS = 60_000

/**
 * Starts the embedded PostgreSQL of `home`. This process then owns its data until it releases them or ends, and a
 * server that a killed owner left behind is stopped first. All errors are EmbeddedPostgresErrors; `embedded.busy`
 * if another process is the owner.
 */
export async function acquireEmbeddedPostgres(
  options: EmbeddedPostgresOptions,
): Promise<EmbeddedPostgres> {
  const home = resolve(options.home)
  try {
    return await ownOrJoin(await findPlace(home), options)
  } catch (err) {
    throw explainSystemError(err, home)
  }
}

async function ownOrJoin(
  place: Place,
  options: EmbeddedPostgresOptions,
): Promise<EmbeddedPostgres> {
  const { join = false, log } = options
  const found = await poll(
    async () => lock(place.lock) ?? (join ? await findRunning(place, log) : undefined),
    { timeoutMs: join ? JOIN_TIMEOUT_MS : OWN_TIMEOUT_MS, everyMs: 100 },
  )
  if (found === undefined) {
    const what = join ? 'and does not answer' : 'already'
    throw new EmbeddedPostgresError(
      'busy',
      `another farewatch runs the embedded PostgreSQL in ${place.directory} ${what}: end it first, choose ` +
        `another FAREWATCH_HOME, ${OR_SET_DATABASE_URL}`,
    )
  }
  if (typeof found !== 'function') return found
  const user = await findUserOf01(place)
  if (user !== undefined) {
    found()
    throw olderVersionRuns(`farewatch 0.1 (process ${user})`, place)
  }
  try {
    return await own(place, options, found)
  } catch (err) {
    await stopServer(place.data, log)
    found()
    throw err
  }
}

/**
 * Locks the file until the returned function is called or this process ends: the operating system drops the lock of a
 * killed process. Node offers such locks through SQLite only. Undefined if another process has the lock.
 */
function lock(file: string): (() => void) | undefined {
  const database = new DatabaseSync(file)
  try {
    // Another user who could open the file could lock it.
    chmodSync(file, 0o600)
    database.exec('begin exclusive')
    return () => database.isOpen && database.close()
  } catch (err) {
    database.close()
    if (hasCode(err, 'ERR_SQLITE_ERROR') && /locked/.test(messageOf(err))) return undefined
    throw err
  }
}

function olderVersionRuns(what: string, { directory }: Place): EmbeddedPostgresError {
  return new EmbeddedPostgresError(
    'busy',
    `${what} runs the embedded PostgreSQL in ${directory}: end it first`,
  )
}

/** The server of the process that owns the data. Undefined while it does not answer. */
async function findRunning(place: Place, log: Logger): Promise<EmbeddedPostgres | undefined> {
  const server = await findPostmaster(place.data)
  if (!server?.ready) return undefined
  const password = await readPassword(place)
  if (password === undefined) throw olderVersionRuns('an earlier farewatch', place)
  const url = urlOf(password, server.port)
  if ((await pingServer(url, log)).kind !== 'answers') return undefined
  const { directory } = place
  return { url, port: server.port, directory, madeData: false, release: async () => undefined }
}

const SHARED_USER =
  'embedded postgres runs as a user that other programs share: they could read its data'

async function own(
  place: Place,
  { log, settings = {} }: EmbeddedPostgresOptions,
  unlock: () => void,
): Promise<EmbeddedPostgres> {
  const startedAt = performance.now()
  const madeData = await ensureData(place, settings)
  if (place.user !== undefined && isShared(place.user)) {
    log.warn({ user: place.user.name, data: place.data }, SHARED_USER)
  }
  const pids = await postgresProcessesIn(place.data)
  if (pids.length > 0) log.warn({ pids }, 'stopping the embedded postgres of a killed farewatch')
  await stopServer(place.data, log)
  const password = await ensureOwner(place, settings)
  const port = await choosePort(place)
  const server = await startServer(place, port, settings)
  const url = urlOf(password, port)
  await assertAnswers(place, url, log)
  const ms = Math.round(performance.now() - startedAt)
  log.info({ port, madeData, ms }, 'embedded postgres ready')
  const { directory } = place
  const running = { server, port, url, log, settings, unlock }
  return { url, port, directory, madeData, ...superviseServer(place, running) }
}

/** Version 0.1 locks no file: each of its processes that uses the running server has an entry, which begins with its pid. */
async function findUserOf01({ usersOf01, data }: Place): Promise<number | undefined> {
  const entries = (await readdir(usersOf01).catch(undefinedIfMissing)) ?? []
  const user = entries.map((name) => Number.parseInt(name, 10)).find(isRunning)
  return user === undefined || (await postgresProcessesIn(data)).length === 0 ? undefined : user
}

async function assertAnswers(place: Place, url: string, log: Logger): Promise<void> {
  const answer = await pingServer(url, log)
  if (answer.kind === 'answers') return
  const reason = `the embedded PostgreSQL in ${place.directory} started but did not answer: ${answer.reason}`
  throw answer.kind === 'refused'
    ? new EmbeddedPostgresError(
        'password_unknown',
        `${reason}; restore ${place.ownerPasswordFile}, or delete it: the next start then sets another password`,
      )
    : new EmbeddedPostgresError('silent', `${reason}; try again`)
}

interface Running {
  readonly server: ChildProcess
  readonly port: number
  readonly url: string
  readonly log: Logger
  readonly settings: Settings
  readonly unlock: () => void
}

/** Restarts and releases a server, one at a time. A released server is not started again. */
function superviseServer(
  place: Place,
  { server: first, port, url, log, settings, unlock }: Running,
): Required<Pick<EmbeddedPostgres, 'supervision' | 'release'>> {
  let server = first
  let released: Promise<void> | undefined
  let restarted: Promise<void> = Promise.resolve()
  const restart = async () => {
    if (released !== undefined || !hasEnded(server)) return
    // The processes of a killed server may still run.
    await stopServer(place.data, log)
    server = await startServer(place, port, settings)
  }
  const release = async () => {
    await restarted.catch(() => undefined)
    await stopServer(place.data, log)
    unlock()
    log.info('embedded postgres stopped')
  }
  /** A new connection is used: a pool may be exhausted although the server answers. */
  const check = async (): Promise<ServerState> => {
    if (await isDeleted(place)) return { kind: 'deleted', reason: deletedText(place) }
    const answer = await pingServer(url, log)
    if (answer.kind === 'answers') return answer
    if (!hasEnded(server)) return { kind: 'silent', reason: answer.reason }
    return { kind: 'died', reason: nameFullDisk(await tailOfLog(place)) }
  }
  const explain = async (err: unknown) => {
    if (await isDeleted(place)) {
      return new EmbeddedPostgresError('deleted', deletedText(place), { cause: err })
    }
    if (err instanceof AppError || !isDatabaseUnavailable(err)) return err
    const last = await tailOfLog(place)
    const message = `the embedded PostgreSQL in ${place.directory} failed: ${messageOf(err)}. Its log ends:\n${last}`
    return new EmbeddedPostgresError('silent', message, { cause: err })
  }
  return {
    supervision: { check, explain, restart: () => (restarted = restart()) },
    release: () => (released ??= release()),
  }
}

/** The data is gone, or the home names other data. */
async function isDeleted({ home, data }: Place): Promise<boolean> {
  return (await findData(home)) !== data
}

function deletedText({ home, directory }: Place): string {
  return (
    `the data of the running farewatch in ${directory} was deleted, or ${home} names it no more: ` +
    'restore the folder, or start farewatch again with an empty database'
  )
}

function urlOf(password: string, port: number): string {
  return `postgres://${OWNER}:${password}@127.0.0.1:${port}/${DATABASE}`
}

/** `refused`: the password is wrong. `silent`: every other failure. */
type PingResult =
  | { readonly kind: 'answers' }
  | { readonly kind: 'refused' | 'silent'; readonly reason: string }

/** SQLSTATE class 28: invalid authorization. */
const REFUSED = /^28/

/** Connects and runs one query. Each waits at most five seconds. */
async function pingServer(url: string, log: Logger): Promise<PingResult> {
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
