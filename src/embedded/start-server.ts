import type { ChildProcess } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { open, readFile, writeFile } from 'node:fs/promises'
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
/**
 * Passed on the command line, so that a newer farewatch can change them.
 *
 * Each start empties the log. It has no errors of statements, which their clients get, and no details, because
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
  log_checkpoints: 'off',
  log_min_messages: 'log',
  log_error_verbosity: 'terse',
  log_min_error_statement: 'panic',
}

/** Starts the server and returns when it accepts connections. Throws `embedded.start_failed`. */
export async function startServer(
  place: Place,
  port: number,
  extra: Settings,
): Promise<ChildProcess> {
  await clearPidFile(place.data)
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
      `${OR_SET_DATABASE_URL}. The log ends:\n${await tailOfLog(place)}`,
  )
}

async function spawnServer(place: Place, settings: Settings): Promise<ChildProcess> {
  const binary = join(place.binaries.folder, 'bin', 'postgres')
  const log = await open(place.log, 'w', 0o600)
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

/** The end of what the server has written since its start. */
export async function tailOfLog({ log }: Place): Promise<string> {
  return cleanText((await readFile(log, 'utf8')).slice(-2_000), 2_000).trim()
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
