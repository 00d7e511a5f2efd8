import { spawn } from 'node:child_process'
import { messageOf } from '../base/errors.ts'
import { cleanText } from '../base/text.ts'
import { EmbeddedPostgresError, OR_SET_DATABASE_URL } from './postgres-errors.ts'

const KEPT_OUTPUT_CHARS = 4_000

/** The user that runs a binary where it is not the current one. */
export interface ServiceUser {
  readonly name: string
  readonly uid: number
  readonly gid: number
}

export interface RunOptions {
  readonly cwd: string
  readonly user: ServiceUser | undefined
  readonly input?: string
}

/**
 * Nothing of our environment: it holds credentials, and PG* variables that would redirect the binaries.
 * Server messages in English: some of them are read here.
 */
const ENVIRONMENT = { LC_ALL: 'C', PATH: '/usr/bin:/bin' }

/** How every binary is spawned: in a session of its own, so that a Ctrl-C on the terminal passes it by. */
export function spawnOptions({ cwd, user }: RunOptions) {
  const identity = user === undefined ? {} : { uid: user.uid, gid: user.gid }
  return { cwd, env: ENVIRONMENT, detached: true, ...identity }
}

/** Runs a binary to its end. Returns the last part of what it printed, both streams, in order. */
export function runBinary(
  path: string,
  args: readonly string[],
  options: RunOptions,
): Promise<{ exitCode: number | null; output: string }> {
  const { promise, resolve, reject } = Promise.withResolvers<{
    exitCode: number | null
    output: string
  }>()
  let output = ''
  const keep = (text: string) => {
    output = (output + text).slice(-KEPT_OUTPUT_CHARS)
  }
  const child = spawn(path, args, { ...spawnOptions(options), stdio: ['pipe', 'pipe', 'pipe'] })
  child.on('error', (err) => reject(unusable(path, options, err)))
  child.stdout.setEncoding('utf8').on('data', keep)
  child.stderr.setEncoding('utf8').on('data', keep)
  // A binary that fails at once closes its input before it is read: its exit code tells.
  child.stdin.on('error', () => undefined)
  child.stdin.end(options.input ?? '')
  child.on('close', (exitCode) => resolve({ exitCode, output: cleanText(output, 4_000).trim() }))
  return promise
}

export function unusable(
  path: string,
  { user }: Pick<RunOptions, 'user'>,
  err: unknown,
): EmbeddedPostgresError {
  const as = user === undefined ? '' : ` as user ${user.name}`
  return new EmbeddedPostgresError(
    'binaries_unusable',
    `cannot run ${path}${as} (${messageOf(err)}): it needs a system with glibc or macOS, a file system ` +
      `that lets programs run and, as root, the right to switch users; change that, ${OR_SET_DATABASE_URL}`,
    { cause: err },
  )
}
