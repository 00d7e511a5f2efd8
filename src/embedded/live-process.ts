import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readdir, readFile, readlink } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { systemClock } from '../base/clock.ts'

const hasProc = process.platform === 'linux'
const run = promisify(execFile)

/**
 * A mark of the process that lives under `pid`: a later process under the same pid has another one.
 * Undefined where none lives; a zombie does not live.
 */
export async function processMark(pid: number): Promise<string | undefined> {
  const start = hasProc ? await startFromProc(pid) : await startFromPs(pid)
  if (start === undefined) return undefined
  return createHash('sha256').update(start).digest('hex').slice(0, 16)
}

/**
 * The pids of every `postgres` that works in `directory`: a server and its children change into their data
 * directory and stay there, whatever happens to the pid file.
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

/** Field 22 of /proc/pid/stat counts from the boot, hence the boot's id. */
async function startFromProc(pid: number): Promise<string | undefined> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '')
  // The second field is the program's name in brackets, which may itself hold spaces and brackets.
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

/** Both tools exit with 1 where they find nothing. */
async function outputOf(tool: string, args: readonly string[]): Promise<string> {
  const done = await run(tool, args, {
    env: { LC_ALL: 'C', PATH: '/usr/bin:/bin:/usr/sbin' },
  }).catch(() => ({ stdout: '' }))
  return done.stdout
}

function pidsIn(text: string): number[] {
  return text.split('\n').filter(Boolean).map(Number)
}

export interface Patience {
  readonly timeoutMs: number
  readonly everyMs: number
}

/**
 * Asks until there is something other than undefined; undefined after `timeoutMs`.
 *
 * Other processes' ends and files send no event that works on every system.
 */
export async function poll<T>(
  ask: () => Promise<T | undefined>,
  { timeoutMs, everyMs }: Patience,
): Promise<T | undefined> {
  const deadline = performance.now() + timeoutMs
  for (;;) {
    const answer = await ask()
    if (answer !== undefined || performance.now() > deadline) return answer
    await systemClock.sleep(everyMs)
  }
}
