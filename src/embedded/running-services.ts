import { lstat, mkdir, realpath } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { AppError } from '../platform/base/errors.ts'
import type { Logger } from '../platform/base/logger.ts'
import { enter, type Presence, readEntries } from './presence.ts'

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

const sandboxesOf = (home: string) => join(home, 'sandboxes')

/** Records the sandbox of this process for the commands of the same home. */
export function recordSandbox(home: string, { url, token }: RunningSandbox): Promise<Presence> {
  return enter(sandboxesOf(home), JSON.stringify({ url, token }))
}

/** The sandbox that a running service of this home has started. Throws NoSandboxRunsError. */
export async function requireSandbox(home: string): Promise<RunningSandbox> {
  for (const text of await readEntries(sandboxesOf(home))) {
    const { url, token } = parsed(text)
    if (typeof url === 'string' && typeof token === 'string') return { url, token }
  }
  throw new NoSandboxRunsError(home)
}

/** Records that a service of this user runs with `home`. Undefined if there is no folder for it. */
export async function recordHome(home: string): Promise<Presence | undefined> {
  const folder = await userFolder()
  if (folder === undefined) return undefined
  return enter(folder, JSON.stringify({ home: await realpath(home) }))
}

/**
 * Warns a command that does not read the database of the running farewatch. Otherwise an empty database, made a moment ago,
 * seems like lost data.
 * @param madeData whether the command has just created the database of its home.
 */
export async function warnOfOtherHome(home: string, madeData: boolean, log: Logger): Promise<void> {
  const own = await realpath(home)
  const folder = await userFolder()
  const texts = folder === undefined ? [] : await readEntries(folder)
  const homes = texts.map((text) => parsed(text).home).filter((value) => typeof value === 'string')
  if (homes.includes(own)) return
  const used = madeData ? 'another, empty database' : 'another database'
  if (homes.length > 0) {
    const running = [...new Set(homes)]
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

/** The members of the text. There are none if the text is not complete yet. */
function parsed(text: string): Readonly<Record<string, unknown>> {
  try {
    return JSON.parse(text) ?? {}
  } catch {
    return {}
  }
}
