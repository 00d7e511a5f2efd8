import { randomBytes, randomUUID } from 'node:crypto'
import {
  chown,
  mkdir,
  open,
  readdir,
  readFile,
  rename,
  rm,
  statfs,
  writeFile,
} from 'node:fs/promises'
import { join } from 'node:path'
import { majorOf, runBinary } from './postgres-binaries.ts'
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
 * Creates the data directory with its superuser and database, or checks the existing one. Returns whether it
 * created one.
 *
 * It is created under another name and renamed, so an existing data directory is complete. Only the owner may call it.
 */
export async function ensureData(place: Place, settings: Settings): Promise<boolean> {
  const version = await readFile(join(place.data, 'PG_VERSION'), 'utf8').catch(undefinedIfMissing)
  await assertSpace(place, version === undefined ? FREE_MB.toCreate : FREE_MB.toRun)
  if (version !== undefined) {
    assertMajor(place, version.trim())
    return false
  }
  await assertEmpty(place)
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

/** A new data directory has 40 MB, and the first syncs write 100 MB of WAL. */
const FREE_MB = { toCreate: 200, toRun: 64 }

/** A server whose disk is full crashes while it starts and may not stop. */
async function assertSpace({ directory }: Place, neededMb: number): Promise<void> {
  const { bavail, bsize } = await statfs(directory)
  const freeMb = Math.floor((bavail * bsize) / 2 ** 20)
  if (freeMb >= neededMb) return
  throw new EmbeddedPostgresError(
    'storage',
    `the disk of ${directory} has ${freeMb} MB free, and the embedded PostgreSQL needs ${neededMb} MB: free some, choose ` +
      `another FAREWATCH_HOME, ${OR_SET_DATABASE_URL}`,
  )
}

/** Throws `embedded.password_unknown` if the file is missing. */
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
    `${data} was created by PostgreSQL ${found}, and this farewatch has PostgreSQL ${ours}: dump it with the ` +
      `older farewatch and load it here, move it away to start with an empty database, ${OR_SET_DATABASE_URL}`,
  )
}

/** A data directory without PG_VERSION is damaged, and may be the last copy of its data. */
async function assertEmpty({ data }: Place): Promise<void> {
  const found = (await readdir(data).catch(undefinedIfMissing)) ?? []
  if (found.length === 0) return
  throw new EmbeddedPostgresError(
    'storage',
    `${data} is not a PostgreSQL data directory but is not empty: restore it, or move it away to start ` +
      'with an empty database',
  )
}

/** Removes the directories of killed runs of initdb. An initdb whose caller was killed may still write for a moment. */
async function removePartials({ directory }: Place): Promise<void> {
  const names = (await readdir(directory)).filter((name) => name.startsWith('data.partial-'))
  const options = { recursive: true, force: true, maxRetries: 10, retryDelay: 100 }
  await Promise.all(names.map((name) => rm(join(directory, name), options)))
}

/** A hexadecimal password needs no escaping in a URL. */
async function writePassword(place: Place): Promise<void> {
  await rm(place.passwordFile, { force: true })
  const password = randomBytes(24).toString('hex')
  await writeFile(place.passwordFile, `${password}\n`, { mode: 0o600, flag: 'wx', flush: true })
  // initdb reads it.
  await giveToServer(place, place.passwordFile)
}

/** The builtin locale provider sorts in the same way on every system. */
async function runInitdb(place: Place, data: string, settings: Settings): Promise<void> {
  const args = [
    ['-D', data, '-U', SUPERUSER, `--pwfile=${place.passwordFile}`, '--auth=scram-sha-256'],
    ['--encoding=UTF8', '--locale-provider=builtin', '--builtin-locale=C.UTF-8', '--locale=C'],
    settings.fsync === 'off' ? ['--no-sync'] : [],
  ]
  const { exitCode, output } = await runBinary(
    join(place.binaries.folder, 'bin', 'initdb'),
    args.flat(),
    { cwd: place.directory, user: place.user },
  )
  if (exitCode !== 0) throw initFailed(place, output)
}

/**
 * Single-user mode needs no port and no password, and no other process can connect before the directory is
 * complete.
 */
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
    { cwd: place.directory, user: place.user, input: `create database ${DATABASE}\n` },
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
    `PostgreSQL could not create its data directory in ${directory}; fix what its output names, ` +
      `${OR_SET_DATABASE_URL}. Its output:\n${output}`,
  )
}

async function giveToServer({ user }: Place, path: string): Promise<void> {
  if (user !== undefined) await chown(path, user.uid, user.gid)
}

/** A renamed directory survives a power failure only after its parent is flushed. */
async function flush(directory: string): Promise<void> {
  const handle = await open(directory, 'r')
  await handle.sync()
  await handle.close()
}
