import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Logger } from '../base/logger.ts'
import { poll, postgresProcessesIn, processMark } from './live-process.ts'
import { EmbeddedPostgresError, hasCode, undefinedIfMissing } from './postgres-errors.ts'

/** What postmaster.pid says of a server. `ready` comes when it takes connections. */
export interface Postmaster {
  readonly pid: number
  readonly port: number
  readonly ready: boolean
}

/**
 * How a server is asked to go, in turn, until it has gone. A fast shutdown is the postmaster's to conduct: the
 * same signal would make the checkpointer write its last record too early. The others are a crash, from which
 * the next start recovers.
 */
const WAYS_TO_STOP = [
  { signal: 'SIGINT', everyProcess: false, timeoutMs: 60_000 },
  { signal: 'SIGQUIT', everyProcess: true, timeoutMs: 10_000 },
  { signal: 'SIGKILL', everyProcess: true, timeoutMs: 10_000 },
] as const

/** The server that lives in the data directory; undefined too while it has not written its file. */
export async function findPostmaster(data: string): Promise<Postmaster | undefined> {
  const noted = await readPidFile(data)
  if (noted === undefined) return undefined
  return (await postgresProcessesIn(data)).includes(noted.pid) ? noted : undefined
}

/** What postmaster.pid says, whether true or not. Lines 1, 4 and 8 of it are pid, port and status. */
export async function readPidFile(data: string): Promise<Postmaster | undefined> {
  const text = await readFile(join(data, 'postmaster.pid'), 'utf8').catch(undefinedIfMissing)
  const lines = (text ?? '').split('\n').map((line) => line.trim())
  const [pid, port] = [Number(lines[0]), Number(lines[3])]
  if (!isPositive(pid) || !isPositive(port)) return undefined
  return { pid, port, ready: lines[7] === 'ready' }
}

/**
 * Removes a pid file that would keep PostgreSQL from starting though no server lives here: one that makes no
 * sense, or whose pid is another program's by now. A dead pid's file stays: PostgreSQL recognizes it, and
 * finds by it whether processes of that server still hold its shared memory.
 */
export async function clearPidFile(data: string): Promise<void> {
  const path = join(data, 'postmaster.pid')
  const text = await readFile(path, 'utf8').catch(undefinedIfMissing)
  if (text === undefined) return
  const pid = /^-?(\d+)\n/.exec(text)?.[1]
  if (pid !== undefined && (await processMark(Number(pid))) === undefined) return
  await rm(path, { force: true })
}

/** Returns when no process of the server is left; at once where none is. Throws `embedded.stop_failed`. */
export async function stopServer(data: string, log: Logger): Promise<void> {
  for (const { signal, everyProcess, timeoutMs } of WAYS_TO_STOP) {
    const all = await postgresProcessesIn(data)
    if (all.length === 0) return
    const postmaster = await findPostmaster(data)
    const addressed = everyProcess ? all : all.filter((pid) => pid === postmaster?.pid)
    if (addressed.length === 0) continue
    if (everyProcess) log.warn({ signal, pids: all }, 'embedded postgres does not stop')
    for (const pid of addressed) send(pid, signal)
    if (await poll(() => isGone(data), { timeoutMs, everyMs: 20 })) return
  }
  const left = (await postgresProcessesIn(data)).join(', ')
  throw new EmbeddedPostgresError(
    'stop_failed',
    `the processes ${left} of the embedded PostgreSQL in ${data} do not end: end them by hand`,
  )
}

/** For polling: true when no process of the server is left, else undefined. */
export async function isGone(data: string): Promise<true | undefined> {
  return (await postgresProcessesIn(data)).length === 0 ? true : undefined
}

function send(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch (err) {
    // It went by itself.
    if (!hasCode(err, 'ESRCH')) throw err
  }
}

function isPositive(value: number): boolean {
  return Number.isSafeInteger(value) && value > 0
}
