import { type ExecFileOptions, execFile } from 'node:child_process'
import { readdir, readFile, readlink, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { systemClock } from '../platform/base/clock.ts'
import type { Logger } from '../platform/base/logger.ts'
import { isRunning } from '../platform/base/running-pid.ts'
import { EmbeddedPostgresError, hasCode, undefinedIfMissing } from './postgres-errors.ts'

/** A server as postmaster.pid describes it. `ready`: it accepts connections. */
interface Postmaster {
  readonly pid: number
  readonly port: number
  readonly ready: boolean
}

/**
 * The signals that stop a server, one after the other. SIGINT, the fast shutdown, goes to the postmaster alone: it
 * would make the checkpointer write its last record too early. The others are a crash, from which the next start
 * recovers. Together they take less time than a process has from Ctrl-C to its end.
 */
const STOP_STEPS = [
  { signal: 'SIGINT', everyProcess: false, timeoutMs: 7_000 },
  { signal: 'SIGQUIT', everyProcess: true, timeoutMs: 2_000 },
  { signal: 'SIGKILL', everyProcess: true, timeoutMs: 3_000 },
] as const

/**
 * The pids of every `postgres` that runs in `directory`. A server and its children keep their data directory as working
 * directory, even if the pid file is lost.
 * @param directory without symbolic links.
 */
export async function postgresProcessesIn(directory: string): Promise<number[]> {
  if (process.platform !== 'linux') {
    const found = await outputOf('lsof', ['-t', '-a', '-c', 'postgres', '-d', 'cwd', directory])
    return found.split('\n').filter(Boolean).map(Number)
  }
  const pids = await processesIn(directory)
  const names = await Promise.all(
    pids.map((pid) => readFile(`/proc/${pid}/comm`, 'utf8').catch(() => '')),
  )
  return pids.filter((_, index) => names[index]?.trim() === 'postgres')
}

/**
 * The pids of all that runs in `directory`. A process shows its working directory to its own user, and to root only
 * with a capability that containers do not have. So root asks as the user of the server, who owns the directory.
 */
async function processesIn(directory: string): Promise<number[]> {
  const owner = await stat(directory).catch(undefinedIfMissing)
  if (owner === undefined) return []
  const { uid, gid } = owner
  if (process.geteuid?.() === 0 && uid !== 0) {
    const listed = await outputOf('sh', ['-c', 'ls -l /proc/[0-9]*/cwd'], { uid, gid, cwd: '/' })
    const links = [...listed.matchAll(/ \/proc\/(\d+)\/cwd -> (.*)$/gm)]
    return links.filter(([, , cwd]) => cwd === directory).map(([, pid]) => Number(pid))
  }
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number)
  const cwds = await Promise.all(pids.map((pid) => readlink(`/proc/${pid}/cwd`).catch(() => '')))
  return pids.filter((_, index) => cwds[index] === directory)
}

/** What a command prints, also if it fails: `lsof` does if it finds nothing, `ls` if a process is not its user's. */
async function outputOf(
  command: string,
  args: readonly string[],
  options: Pick<ExecFileOptions, 'uid' | 'gid' | 'cwd'> = {},
): Promise<string> {
  const env = { LC_ALL: 'C', PATH: '/usr/bin:/bin:/usr/sbin' }
  const { stdout } = await promisify(execFile)(command, args, { ...options, env }).catch(
    (err: { stdout?: string }) => ({ stdout: err.stdout ?? '' }),
  )
  return stdout
}

/** The server that runs in the data directory. Undefined too until it has written its pid file. */
export async function findPostmaster(data: string): Promise<Postmaster | undefined> {
  const server = await readPidFile(data)
  if (server === undefined) return undefined
  return (await postgresProcessesIn(data)).includes(server.pid) ? server : undefined
}

/** The content of postmaster.pid, which may be stale. Lines 1, 4 and 8 are pid, port and status. */
export async function readPidFile(data: string): Promise<Postmaster | undefined> {
  const text = await readFile(join(data, 'postmaster.pid'), 'utf8').catch(undefinedIfMissing)
  const lines = (text ?? '').split('\n').map((line) => line.trim())
  const [pid, port] = [Number(lines[0]), Number(lines[3])]
  if (!isPositive(pid) || !isPositive(port)) return undefined
  return { pid, port, ready: lines[7] === 'ready' }
}

/**
 * Removes a pid file that would prevent the start although no server runs here: an invalid one, or one whose pid
 * now belongs to another program. The file of a dead pid stays: with it PostgreSQL finds processes that still hold
 * shared memory.
 */
export async function clearPidFile(data: string): Promise<void> {
  const path = join(data, 'postmaster.pid')
  const text = await readFile(path, 'utf8').catch(undefinedIfMissing)
  const pid = /^-?(\d+)\n/.exec(text ?? '')?.[1]
  if (pid === undefined || isRunning(Number(pid))) await rm(path, { force: true })
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
    const isStopped = async () => (await postgresProcessesIn(data)).length === 0 || undefined
    if (await poll(isStopped, { timeoutMs, everyMs: 20 })) return
  }
  const left = (await postgresProcessesIn(data)).join(', ')
  throw new EmbeddedPostgresError(
    'stop_failed',
    `the processes ${left} of the embedded PostgreSQL in ${data} do not stop: kill them by hand`,
  )
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

interface PollOptions {
  readonly timeoutMs: number
  readonly everyMs: number
}

/**
 * Repeats `read` until it returns a value. Returns undefined after `timeoutMs`. It polls because no system call reports
 * changed files and ended processes on every system.
 */
export async function poll<T>(
  read: () => Promise<T | undefined>,
  { timeoutMs, everyMs }: PollOptions,
): Promise<T | undefined> {
  const deadline = performance.now() + timeoutMs
  for (;;) {
    const value = await read()
    if (value !== undefined || performance.now() > deadline) return value
    await systemClock.sleep(everyMs)
  }
}
