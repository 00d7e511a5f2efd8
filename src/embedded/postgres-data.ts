import { randomBytes, randomUUID } from 'node:crypto'
import { chown, mkdir, open, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { majorOf, type RunOptions, runBinary } from './postgres-binaries.ts'
import {
  EmbeddedPostgresError,
  OR_SET_DATABASE_URL,
  undefinedIfMissing,
} from './postgres-errors.ts'
import type { Place } from './postgres-place.ts'

export const SUPERUSER = 'farewatch'
export const DATABASE = 'farewatch'

/** Server settings by name. */
export type Settings = Readonly<Record<string, string>>

/**
 * Makes the data directory with its superuser and database, or checks the one that is there.
 *
 * Made aside and renamed: a data directory that exists is complete. Call it under the place's lock.
 * Returns whether it made one.
 */
export async function ensureData(place: Place, settings: Settings): Promise<boolean> {
  const version = await readFile(join(place.data, 'PG_VERSION'), 'utf8').catch(undefinedIfMissing)
  if (version !== undefined) {
    assertMajor(place, version.trim())
    return false
  }
  await assertNothingThere(place)
  await removePartials(place)
  const partial = join(place.directory, `data.partial-${randomUUID()}`)
  await mkdir(partial, { mode: 0o700 })
  await giveToServer(place, partial)
  await writePassword(place)
  await runInitdb(place, partial, settings)
  await createDatabase(place, partial, settings)
  await rename(partial, place.data)
  await flush(place.directory)
  return true
}

/** Throws `embedded.password_unknown` where somebody removed it. */
export async function readPassword({ passwordFile, data }: Place): Promise<string> {
  const password = await readFile(passwordFile, 'utf8').catch(undefinedIfMissing)
  if (password !== undefined) return password.trim()
  throw new EmbeddedPostgresError(
    'password_unknown',
    `${passwordFile} is missing, and with it the password of the data in ${data}: restore it, or move ` +
      `${data} away to start with an empty database`,
  )
}

function assertMajor({ data, binaries }: Place, found: string): void {
  const ours = majorOf(binaries)
  if (found === ours) return
  throw new EmbeddedPostgresError(
    'other_major_version',
    `${data} was made by PostgreSQL ${found}, and this farewatch brings PostgreSQL ${ours}: dump it with the ` +
      `older farewatch and load it here, move it away to start with an empty database, ${OR_SET_DATABASE_URL}`,
  )
}

/** A data directory that lost its PG_VERSION is damaged, and may be somebody's last copy. */
async function assertNothingThere({ data }: Place): Promise<void> {
  const found = (await readdir(data).catch(undefinedIfMissing)) ?? []
  if (found.length === 0) return
  throw new EmbeddedPostgresError(
    'storage',
    `${data} is not a PostgreSQL data directory but is not empty: restore it, or move it away to start ` +
      'with an empty database',
  )
}

/** What an initdb left that was killed, or whose caller was: then it may still be writing for a moment. */
async function removePartials({ directory }: Place): Promise<void> {
  const names = (await readdir(directory)).filter((name) => name.startsWith('data.partial-'))
  const patiently = { recursive: true, force: true, maxRetries: 10, retryDelay: 100 }
  await Promise.all(names.map((name) => rm(join(directory, name), patiently)))
}

/** Hexadecimal: it needs no escaping in a URL. */
async function writePassword(place: Place): Promise<void> {
  await rm(place.passwordFile, { force: true })
  const password = randomBytes(24).toString('hex')
  await writeFile(place.passwordFile, `${password}\n`, { mode: 0o600, flag: 'wx', flush: true })
  // initdb reads it.
  await giveToServer(place, place.passwordFile)
}

/** The builtin provider sorts alike on every system; the system's own locales are not asked. */
async function runInitdb(place: Place, data: string, settings: Settings): Promise<void> {
  const args = [
    ['-D', data, '-U', SUPERUSER, `--pwfile=${place.passwordFile}`, '--auth=scram-sha-256'],
    ['--encoding=UTF8', '--locale-provider=builtin', '--builtin-locale=C.UTF-8', '--locale=C'],
    settings.fsync === 'off' ? ['--no-sync'] : [],
  ]
  const { exitCode, output } = await runBinary(
    join(place.binaries.folder, 'bin', 'initdb'),
    args.flat(),
    runOptions(place),
  )
  if (exitCode !== 0) throw initFailed(place, output)
}

/** In single-user mode: no port, no password, and nobody else can see the directory before it is complete. */
async function createDatabase(place: Place, data: string, settings: Settings): Promise<void> {
  const { exitCode, output } = await runBinary(
    join(place.binaries.folder, 'bin', 'postgres'),
    [
      '--single',
      '-D',
      data,
      ...settingArguments({ ...settings, log_checkpoints: 'off' }),
      'postgres',
    ],
    { ...runOptions(place), input: `create database ${DATABASE}\n` },
  )
  // A failed statement does not change the exit code.
  if (exitCode !== 0 || /(ERROR|FATAL|PANIC):/.test(output)) throw initFailed(place, output)
}

export function settingArguments(settings: Settings): string[] {
  return Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
}

function initFailed({ directory }: Place, output: string): EmbeddedPostgresError {
  return new EmbeddedPostgresError(
    'init_failed',
    `PostgreSQL could not make its data directory in ${directory}; change what it names, ` +
      `${OR_SET_DATABASE_URL}. It said:\n${output}`,
  )
}

async function giveToServer({ user }: Place, path: string): Promise<void> {
  if (user !== undefined) await chown(path, user.uid, user.gid)
}

function runOptions({ directory, user }: Place): RunOptions {
  return { cwd: directory, user }
}

/** A renamed directory survives a power cut only once its parent is flushed. */
async function flush(directory: string): Promise<void> {
  const handle = await open(directory, 'r')
  await handle.sync()
  await handle.close()
}
