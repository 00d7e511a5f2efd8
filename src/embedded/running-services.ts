import { lstat, mkdir, readdir, readFile, realpath, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { AppError } from '../platform/base/errors.ts'
import type { Logger } from '../platform/base/logger.ts'
import { isRunning } from '../platform/base/running-pid.ts'
import { undefinedIfMissing } from './postgres-errors.ts'

/** How a command reaches the sandbox of a running service. The token is valid for that sandbox only. */
export interface RunningSandbox {
  readonly url: string
  readonly token: string
}

/** A command needs the upstream, but none is configured and no service of this home runs a sandbox. */
export class NoSandboxRunsError extends AppError {
  override readonly name = 'NoSandboxRunsError'
  override readonly code = 'embedded.no_sandbox'
  override readonly retryable = true

  constructor(home: string) {
    super(
      `UPSTREAM_BASE_URL is not set, and no sandbox runs for ${resolve(home)}: start one with "npm start" in another ` +
        'terminal, set FAREWATCH_HOME to the folder of the running farewatch, or set UPSTREAM_BASE_URL',
    )
  }
}

const SANDBOX_TIMEOUT_MS = 2_000

const recordOf = (home: string) => join(home, 'running-sandbox.json')

/** Records the sandbox of this process for the commands of the same home. The record stays when the process ends. */
export async function recordSandbox(home: string, running: RunningSandbox): Promise<void> {
  const partial = `${recordOf(home)}.${process.pid}`
  await writeFile(partial, JSON.stringify(running), { mode: 0o600 })
  await rename(partial, recordOf(home))
}

/** The sandbox that a running service of this home has started. Throws NoSandboxRunsError. */
export async function requireSandbox(home: string): Promise<RunningSandbox> {
  const text = await readFile(recordOf(home), 'utf8').catch(undefinedIfMissing)
  const { url, token }: RunningSandbox = JSON.parse(text ?? '{"url":"","token":""}')
  if (await answersAsSandbox(url)) return { url, token }
  throw new NoSandboxRunsError(home)
}

/** Another program may have the port now. */
async function answersAsSandbox(url: string): Promise<boolean> {
  try {
    const signal = AbortSignal.timeout(SANDBOX_TIMEOUT_MS)
    const world: unknown = await (await fetch(`${url}/sandbox/world`, { signal })).json()
    return typeof world === 'object' && world !== null && 'seed' in world
  } catch {
    return false
  }
}

/** Records that a service of this user runs with `home`. Returns the function that removes the record. */
export async function recordHome(home: string): Promise<() => Promise<void>> {
  const folder = await userFolder()
  if (folder === undefined) return async () => undefined
  const file = join(folder, String(process.pid))
  await writeFile(file, await realpath(home), { mode: 0o600 })
  return () => rm(file, { force: true })
}

/** Whether a service of this user runs with `home`. */
export async function isHomeInUse(home: string): Promise<boolean> {
  const own = await realpath(home).catch(undefinedIfMissing)
  return own !== undefined && (await runningHomes()).includes(own)
}

/** The homes of the services that run. Removes the records of killed ones. */
async function runningHomes(): Promise<string[]> {
  const folder = await userFolder()
  const names = folder === undefined ? [] : await readdir(folder)
  const homes = await Promise.all(
    names.map(async (name) => {
      const file = join(folder ?? '', name)
      if (isRunning(Number.parseInt(name, 10)))
        return readFile(file, 'utf8').catch(undefinedIfMissing)
      await rm(file, { force: true })
      return undefined
    }),
  )
  return [...new Set(homes)].filter((home) => home !== undefined)
}

/**
 * Warns a command that does not read the database of the running farewatch. Otherwise an empty database, made a
 * moment ago, seems like lost data.
 * @param madeData whether the command has just created the database of its home.
 */
export async function warnOfOtherHome(home: string, madeData: boolean, log: Logger): Promise<void> {
  const own = await realpath(home)
  const running = await runningHomes()
  if (running.includes(own)) return
  const used = madeData ? 'another, empty database' : 'another database'
  if (running.length > 0) {
    log.warn(
      { home: own, running },
      `this command uses ${used}: farewatch runs with another FAREWATCH_HOME`,
    )
  } else if (madeData) log.warn({ home: own }, 'this command uses a new, empty database')
}

/** A folder that only this user can write. Undefined if another user has created it first, or it cannot be created. */
async function userFolder(): Promise<string | undefined> {
  const folder = join(tmpdir(), `farewatch-${process.geteuid?.() ?? 'user'}`)
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 })
    const found = await lstat(folder)
    const isOurs = found.isDirectory() && found.uid === (process.geteuid?.() ?? found.uid)
    return isOurs && (found.mode & 0o022) === 0 ? folder : undefined
  } catch {
    return undefined
  }
}
