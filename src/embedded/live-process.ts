import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readlinkSync } from 'node:fs'
import { readdir, readFile, readlink } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { systemClock } from '../platform/base/clock.ts'

const hasProc = process.platform === 'linux'
const run = promisify(execFile)

/**
 * Identifies the process with this pid: a later process with the same pid has another mark. Undefined if there is none, or
 * only a zombie.
 */
export async function processMark(pid: number): Promise<string | undefined> {
  const start = hasProc ? await startFromProc(pid) : await startFromPs(pid)
  if (start === undefined) return undefined
  return createHash('sha256').update(start).digest('hex').slice(0, 16)
}

/**
 * The pids of every `postgres` that runs in `directory`. A server and its children keep their data directory as working
 * directory, even if the pid file is lost.
 * @param directory without symbolic links.
 */
export async function postgresProcessesIn(directory: string): Promise<number[]> {
  if (!hasProc) {
    return pidsIn(await outputOf('lsof', ['-t', '-a', '-c', 'postgres', '-d', 'cwd', directory]))
  }
  const pids = pidsIn((await readdir('/proc')).filter((name) => /^\d+$/.test(name)).join('\n'))
  const inside = await Promise.all(pids.map((pid) => isPostgresIn(pid, directory)))
  return pids.filter((_, index) => inside[index] === true)
}

/** False if the process works in another directory. On systems without /proc every process may. */
export function mayRunIn(pid: number, directory: string): boolean {
  return !hasProc || readlinkSync(`/proc/${pid}/cwd`) === directory
}

/** Field 22 of /proc/pid/stat is the start in ticks since boot, so the id of the boot belongs to it. */
async function startFromProc(pid: number): Promise<string | undefined> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '')
  // The second field is the program's name in brackets. The name may contain spaces and brackets.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const [state, startTicks] = [fields[0], fields[19]]
  if (startTicks === undefined || state === 'Z' || state === 'X') return undefined
  const boot = await readFile('/proc/sys/kernel/random/boot_id', 'utf8').catch(() => '')
  return `${boot.trim()} ${startTicks}`
}

async function startFromPs(pid: number): Promise<string | undefined> {
  const line = (await outputOf('ps', ['-o', 'stat=,lstart=', '-p', String(pid)])).trim()
  if (line === '' || line.startsWith('Z')) return undefined
  return line.replace(/^\S+\s+/, '')
}

async function isPostgresIn(pid: number, directory: string): Promise<boolean> {
  const folder = `/proc/${pid}`
  if ((await readlink(join(folder, 'cwd')).catch(() => '')) !== directory) return false
  const name = await readFile(join(folder, 'comm'), 'utf8').catch(() => '')
  return name.trim() === 'postgres' && (await startFromProc(pid)) !== undefined
}

/** Empty if the tool fails: both tools exit with 1 if they find nothing. */
async function outputOf(tool: string, args: readonly string[]): Promise<string> {
  const done = await run(tool, args, {
    env: { LC_ALL: 'C', PATH: '/usr/bin:/bin:/usr/sbin' },
  }).catch(() => ({ stdout: '' }))
  return done.stdout
}

function pidsIn(text: string): number[] {
  return text.split('\n').filter(Boolean).map(Number)
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
