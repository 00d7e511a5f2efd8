import { readFileSync } from 'node:fs'
import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Logger } from '../platform/base/logger.ts'
import { mayRunIn, poll, postgresProcessesIn, processMark } from './live-process.ts'
import { EmbeddedPostgresError, hasCode, undefinedIfMissing } from './postgres-errors.ts'

/** A server as postmaster.pid describes it. `ready`: it accepts connections. */
interface Postmaster {
  readonly pid: number
  readonly port: number
  readonly ready: boolean
}

/**
 * The signals that stop a server, one after the other. SIGINT, the fast shutdown, goes to the postmaster alone: it would
 * make the checkpointer write its last record too early. The others are a crash, from which the next start recovers.
 */
const STOP_STEPS = [
  { signal: 'SIGINT', everyProcess: false, timeoutMs: 60_000 },
  { signal: 'SIGQUIT', everyProcess: true, timeoutMs: 10_000 },
  { signal: 'SIGKILL', everyProcess: true, timeoutMs: 10_000 },
] as const

/** The server that runs in the data directory. Undefined too until it has written its pid file. */
export async function findPostmaster(data: string): Promise<Postmaster | undefined> {
  const server = await readPidFile(data)
  if (server === undefined) return undefined
  return (await postgresProcessesIn(data)).includes(server.pid) ? server : undefined
}

/** The content of postmaster.pid, which may be stale. Lines 1, 4 and 8 are pid, port and status. */
export async function readPidFile(data: string): Promise<Postmaster | undefined> {
  const text = await readFile(join(data, 'postmaster.pid'), 'utf8').catch(undefinedIfMissing)
  return parsePidFile(text ?? '')
}

function parsePidFile(text: string): Postmaster | undefined {
  const lines = text.split('\n').map((line) => line.trim())
  const [pid, port] = [Number(lines[0]), Number(lines[3])]
  if (!isPositive(pid) || !isPositive(port)) return undefined
  return { pid, port, ready: lines[7] === 'ready' }
}

/**
 * Removes a pid file that would prevent the start although no server runs here: an invalid one, or one whose pid now belongs
 * to another program. The file of a dead pid stays: with it PostgreSQL finds processes that still hold shared memory.
 */
export async function clearPidFile(data: string): Promise<void> {
  const path = join(data, 'postmaster.pid')
  const text = await readFile(path, 'utf8').catch(undefinedIfMissing)
  if (text === undefined) return
  const pid = /^-?(\d+)\n/.exec(text)?.[1]
  if (pid !== undefined && (await processMark(Number(pid))) === undefined) return
  await rm(path, { force: true })
}

/** Returns when no process of the server is left. Throws `embedded.stop_failed`. */
export async function stopServer(data: string, log: Logger): Promise<void> {
  for (const { signal, everyProcess, timeoutMs } of STOP_STEPS) {
    const all = await postgresProcessesIn(data)
    if (all.length === 0) return
    const postmaster = await findPostmaster(data)
    const targets = everyProcess ? all : all.filter((pid) => pid === postmaster?.pid)
    if (targets.length === 0) continue
    if (everyProcess) log.warn({ signal, pids: all }, 'embedded postgres does not stop')
    for (const pid of targets) send(pid, signal)
    if (await poll(() => isStopped(data), { timeoutMs, everyMs: 20 })) return
  }
  const left = (await postgresProcessesIn(data)).join(', ')
  throw new EmbeddedPostgresError(
    'stop_failed',
    `the processes ${left} of the embedded PostgreSQL in ${data} do not stop: kill them by hand`,
  )
}

/**
 * Sends the fast shutdown and does not wait: PostgreSQL then ends by itself. For the event `exit`, where nothing
 * asynchronous runs any more.
 */
export function stopServerSync(data: string): void {
  try {
    const server = parsePidFile(readFileSync(join(data, 'postmaster.pid'), 'utf8'))
    if (server !== undefined && mayRunIn(server.pid, data)) send(server.pid, 'SIGINT')
  } catch (err) {
    undefinedIfMissing(err)
  }
}

/** Returns true if no process of the server is left, else undefined, as poll needs it. */
export async function isStopped(data: string): Promise<true | undefined> {
  return (await postgresProcessesIn(data)).length === 0 ? true : undefined
}

function send(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch (err) {
    // The process has ended by itself.
    if (!hasCode(err, 'ESRCH')) throw err
  }
}

function isPositive(value: number): boolean {
  return Number.isSafeInteger(value) && value > 0
}
