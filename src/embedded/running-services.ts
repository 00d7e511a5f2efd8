import { readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { AppError } from '../platform/base/errors.ts'
import { isRunning } from '../platform/base/running-pid.ts'
import type { Config } from '../platform/config/settings.ts'
import { undefinedIfMissing } from './postgres-errors.ts'

/** How a command reaches the sandbox of a running service. The token is valid for that sandbox only. */
export interface RunningSandbox {
  readonly url: string
  readonly token: string
}

/** What a running service records for the commands of its home, by the name of the file. */
interface Records {
  readonly sandbox: RunningSandbox
  /** Settings with which a command finds the API: the port is the one where it listens. */
  readonly api: Pick<Config, 'API_HOST' | 'API_PORT' | 'PUBLIC_URL'>
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

const fileOf = (home: string, name: keyof Records) => join(home, `running-${name}.json`)

/** Writes a record of this process. Returns the function that removes it, unless another process has replaced it. */
export async function recordRunning<Name extends keyof Records>(
  home: string,
  name: Name,
  record: Records[Name],
): Promise<() => Promise<void>> {
  const file = fileOf(home, name)
  const partial = `${file}.${process.pid}`
  const text = JSON.stringify({ pid: process.pid, record })
  await writeFile(partial, text, { mode: 0o600 })
  await rename(partial, file)
  return async () => {
    if ((await readFile(file, 'utf8').catch(() => '')) === text) await rm(file)
  }
}

/** The record of a service of this home. Undefined if its process has ended, or it cannot be read. */
export async function findRunning<Name extends keyof Records>(
  home: string,
  name: Name,
): Promise<Records[Name] | undefined> {
  const text = await readFile(fileOf(home, name), 'utf8').catch(() => '{}')
  const { pid, record } = JSON.parse(text)
  return isRunning(pid) ? record : undefined
}

/** The sandbox that a running service of this home has started. Throws NoSandboxRunsError. */
export async function requireSandbox(home: string): Promise<RunningSandbox> {
  const sandbox = await findRunning(home, 'sandbox')
  if (sandbox === undefined) throw new NoSandboxRunsError(home)
  return sandbox
}

/** The configuration of a command, with the address of the API that runs for its home. */
export async function withRunningApi(config: Config): Promise<Config> {
  return { ...config, ...(await findRunning(config.FAREWATCH_HOME, 'api')) }
}

/** Whose key a file of the home holds. */
export type HomeKey = 'operator' | 'demo'

/** The file holds a header of HTTP, so that `curl -H @FILE` sends it. */
export function homeKeyFile(home: string, name: HomeKey): string {
  return join(home, 'keys', name)
}

/** Reads the key of a file that `ensureHomeKey` wrote, or that holds a key alone. Throws NoKeyFileError. */
export async function readKeyFile(file: string): Promise<string> {
  const text = await readFile(file, 'utf8').catch(undefinedIfMissing)
  const key = text?.trim().replace(/^authorization: *bearer +/i, '')
  if (key === undefined || !/^\S+$/.test(key)) throw new NoKeyFileError(file)
  return key
}

class NoKeyFileError extends AppError {
  override readonly name = 'NoKeyFileError'
  override readonly code = 'embedded.no_key_file'

  constructor(file: string) {
    super(
      `${file} holds no key: "npm start" makes one at its first start, FAREWATCH_KEY takes one that ` +
        '"bin/farewatch keys create --operator --database" prints, and with --database a command needs none',
    )
  }
}
