import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface, type Interface } from 'node:readline'
import { afterAll, afterEach, beforeAll, onTestFinished } from 'vitest'
import { acquireEmbeddedPostgres, type EmbeddedPostgres } from '../../src/embedded/postgres.ts'
import { SUPERUSER } from '../../src/embedded/postgres-data.ts'
import { findPlace, type Place } from '../../src/embedded/postgres-place.ts'
import { postgresProcessesIn, stopServer } from '../../src/embedded/server-process.ts'
import { openDatabase, sql } from '../../src/platform/db/database.ts'
import { silentLog } from '../support/silent-log.ts'
import { FAST } from './fast-postgres.ts'

const FIXTURE = new URL('use-postgres.ts', import.meta.url).pathname

export const isRoot = process.geteuid?.() === 0

/** Creates a folder and removes it after the test. */
export async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'farewatch-embedded-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  return folder
}

/** A home that does not exist yet. After the test its server is stopped and its files are removed. */
export async function temporaryHome(folder?: string): Promise<string> {
  const home = join(folder ?? (await temporaryFolder()), 'home')
  const place = await findPlace(home)
  onTestFinished(() => remove(place))
  return home
}

/** A home with data for all tests of a group, because initdb takes most of a test's time. Its server stops after each test. */
export function sharedHome(): () => Place & { readonly home: string } {
  let shared: (Place & { readonly home: string }) | undefined
  const current = () => {
    if (shared === undefined) throw new Error('the shared home does not exist yet')
    return shared
  }
  beforeAll(async () => {
    const home = await mkdtemp(join(tmpdir(), 'farewatch-embedded-'))
    shared = { ...(await findPlace(home)), home }
    await (await acquire(home)).release()
  })
  afterEach(() => stopServer(current().data, silentLog))
  afterAll(async () => {
    await remove(current())
    await rm(current().home, { recursive: true, force: true })
  })
  return current
}

async function remove({ data, directory }: Place): Promise<void> {
  await stopServer(data, silentLog)
  await rm(directory, { recursive: true, force: true })
}

export function acquire(
  home: string,
  settings: Readonly<Record<string, string>> = {},
): Promise<EmbeddedPostgres> {
  return acquireEmbeddedPostgres({ home, log: silentLog, settings: { ...FAST, ...settings } })
}

/** The URL with the superuser and its password. */
export async function superuserUrl({ passwordFile }: Place, url: string): Promise<string> {
  const given = new URL(url)
  given.username = SUPERUSER
  given.password = (await readFile(passwordFile, 'utf8')).trim()
  return given.href
}

/** The ids of all postgres processes of the home, with the children of the server. */
export async function serverProcesses(home: string): Promise<number[]> {
  return postgresProcessesIn((await findPlace(home)).data)
}

/** Runs a statement on a new connection. Returns its first row. */
export async function query(url: string, statement: string): Promise<Record<string, unknown>> {
  const database = openDatabase({ url, applicationName: 'test', log: silentLog })
  try {
    const { rows } = await sql.raw<Record<string, unknown>>(statement).execute(database.db)
    return rows[0] ?? {}
  } finally {
    await database.close()
  }
}

export interface User {
  readonly child: ChildProcess
  /** The next JSON line that it prints. */
  nextLine(): Promise<Record<string, unknown>>
  /** Resolves when the process has ended and its output is closed. */
  readonly closed: Promise<unknown>
  /** Makes the process release the server, and waits for its end. */
  release(): Promise<void>
  /** Kills the process with SIGKILL and waits for its end. */
  kill(): Promise<void>
}

export interface UserOptions {
  readonly mode?: 'abandon' | 'join'
  readonly uid?: number
  readonly gid?: number
  /** Takes a capability from root, as containers do. */
  readonly without?: 'sys_ptrace'
}

/** Starts a process that uses the home's server. */
export function startUser(home: string, { mode, without, ...identity }: UserOptions = {}): User {
  const command = [process.execPath, FIXTURE, home, mode ?? 'stay']
  const [file = '', ...args] = without
    ? ['setpriv', `--bounding-set=-${without}`, ...command]
    : command
  const child = spawn(file, args, {
    stdio: ['pipe', 'pipe', 'inherit'],
    ...identity,
  })
  onTestFinished(() => {
    child.kill('SIGKILL')
  })
  const closed = once(child, 'close').catch((err: NodeJS.ErrnoException) => {
    // Another user cannot start what lies in a folder of mode 0700. Then nothing is printed.
    if (err.code !== 'EACCES') throw err
  })
  const lines: AsyncIterator<string> = linesOf(child)[Symbol.asyncIterator]()
  return {
    child,
    closed,
    nextLine: async () => JSON.parse((await lines.next()).value ?? '{}'),
    release: async () => {
      child.stdin?.write('release\n')
      await closed
    },
    kill: async () => {
      child.kill('SIGKILL')
      await closed
    },
  }
}

function linesOf({ stdout }: ChildProcess): Interface {
  if (stdout === null) throw new Error('the fixture has no output')
  return createInterface({ input: stdout })
}
