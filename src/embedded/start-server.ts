import type { ChildProcess } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { open, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { cleanText } from '../platform/base/text.ts'
import { spawnBinary } from './postgres-binaries.ts'
import { type Settings, settingArguments } from './postgres-data.ts'
import {
  EmbeddedPostgresError,
  hasCode,
  OR_SET_DATABASE_URL,
  undefinedIfMissing,
} from './postgres-errors.ts'
import type { Place } from './postgres-place.ts'
import { clearPidFile, poll, readPidFile } from './server-process.ts'

/** The recovery after a crash reads about a gigabyte of WAL at most. */
const START_TIMEOUT_MS = 300_000
/** Below the ports of outgoing connections, one of which could take ours before a restart. */
const LOWEST_PORT = 20_000
const HIGHEST_PORT = 29_999
const LOG_FILE = /^postgres-\w{3}\.log$/
const LOG_KEPT_DAYS = 7
const LOG_MAX_BYTES = 16 * 1024 * 1024

/**
 * Passed on the command line, so that a newer farewatch can change them.
 *
 * The log has one file per weekday, overwritten after a week. It has no details, statements and parameters, because
 * those contain rows and secrets.
 */
const SETTINGS: Settings = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  max_connections: '100',
  // Not for analysts.
  reserved_connections: '60',
  shared_buffers: '128MB',
  jit: 'off',
  timezone: 'UTC',
  log_timezone: 'UTC',
  lc_messages: 'C',
  logging_collector: 'on',
  log_destination: 'stderr',
  log_directory: 'log',
  log_filename: 'postgres-%a.log',
  log_file_mode: '0600',
  log_rotation_age: '1d',
  log_rotation_size: '0',
  log_truncate_on_rotation: 'on',
  log_checkpoints: 'off',
  log_min_messages: 'error',
  log_error_verbosity: 'terse',
  log_min_error_statement: 'panic',
  log_statement: 'none',
}

/** Starts the server and returns when it accepts connections. Throws `embedded.start_failed`. */
export async function startServer(
  place: Place,
  port: number,
  extra: Settings,
): Promise<ChildProcess> {
  await clearPidFile(place.data)
  await deleteOldLogs(place)
  const server = await spawnServer(place, { ...SETTINGS, ...extra, port: String(port) })
  const outcome = await poll(() => outcomeOf(place, server), {
    timeoutMs: START_TIMEOUT_MS,
    everyMs: 20,
  })
  if (outcome === 'ready') return server
  const reason =
    outcome === 'ended'
      ? 'ended while it started'
      : `is still starting after ${START_TIMEOUT_MS / 1000} s`
  throw new EmbeddedPostgresError(
    'start_failed',
    `the embedded PostgreSQL in ${place.directory} ${reason}; fix what its log names, ` +
      `${OR_SET_DATABASE_URL}. The log ends:\n${await tailOfLogs(place)}`,
  )
}

async function spawnServer(place: Place, settings: Settings): Promise<ChildProcess> {
  const binary = join(place.binaries.folder, 'bin', 'postgres')
  const log = await open(place.startLog, 'w', 0o600)
  try {
    const server = await spawnBinary(binary, ['-D', place.data, ...settingArguments(settings)], {
      cwd: place.directory,
      user: place.user,
      stdio: ['ignore', log.fd, log.fd],
    })
    server.unref()
    return server
  } finally {
    await log.close()
  }
}

export function hasEnded({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode !== null || signalCode !== null
}

/** postmaster.pid may still be that of an earlier server, so its pid is compared. */
async function outcomeOf(
  { data }: Place,
  child: ChildProcess,
): Promise<'ready' | 'ended' | undefined> {
  if (hasEnded(child)) return 'ended'
  const server = await readPidFile(data)
  return server?.pid === child.pid && server?.ready ? 'ready' : undefined
}

/** Deletes old and large log files. The server empties a file only when it switches to it, not when it starts. */
async function deleteOldLogs(place: Place): Promise<void> {
  const oldestMs = Date.now() - LOG_KEPT_DAYS * 86_400_000
  for (const path of await logFiles(place)) {
    const { size, mtimeMs } = await stat(path)
    if (size > LOG_MAX_BYTES || mtimeMs < oldestMs) await rm(path)
  }
}

/** The end of what the server wrote last. */
export async function tailOfLogs(place: Place): Promise<string> {
  const paths = [place.startLog, ...(await logFiles(place))]
  const found = await Promise.all(
    paths.map(async (path) => ({ path, writtenMs: (await stat(path)).mtimeMs })),
  )
  found.sort((a, b) => a.writtenMs - b.writtenMs)
  // The newest two are the output before the log began, and the log.
  const texts = await Promise.all(found.slice(-2).map(({ path }) => readFile(path, 'utf8')))
  return cleanText(texts.join('').slice(-2_000), 2_000).trim()
}

async function logFiles({ data }: Place): Promise<string[]> {
  const folder = join(data, 'log')
  const names = (await readdir(folder).catch(undefinedIfMissing)) ?? []
  return names.filter((name) => LOG_FILE.test(name)).map((name) => join(folder, name))
}

/** The last port of this home's server; a new one if there is none or another program uses it. */
export async function choosePort({ portFile }: Place): Promise<number> {
  const kept = Number(await readFile(portFile, 'utf8').catch(undefinedIfMissing))
  if (Number.isInteger(kept) && kept > 1023 && kept < 65_536 && (await isFree(kept))) return kept
  for (;;) {
    const port = randomInt(LOWEST_PORT, HIGHEST_PORT + 1)
    if (!(await isFree(port))) continue
    await writeFile(portFile, `${port}\n`)
    return port
  }
}

/** Whether a server can listen on the port now. Throws every failure except a taken port. */
async function isFree(port: number): Promise<boolean> {
  const { promise, resolve, reject } = Promise.withResolvers<boolean>()
  const server = createServer()
  server.once('error', (err) => {
    if (hasCode(err, 'EADDRINUSE')) resolve(false)
    else reject(err)
  })
  server.listen({ port, host: '127.0.0.1' }, () => server.close(() => resolve(true)))
  return promise
}
