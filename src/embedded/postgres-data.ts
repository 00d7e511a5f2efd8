import { randomBytes, randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import {
  chown,
  cp,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rename,
  rm,
  statfs,
  writeFile,
} from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { flushDirectory } from '../history/durable-files.ts'
import { majorOf, runBinary } from './postgres-binaries.ts'
import {
  createOnce,
  EmbeddedPostgresError,
  OR_SET_DATABASE_URL,
  undefinedIfMissing,
} from './postgres-errors.ts'
import type { Place } from './postgres-place.ts'

const ANALYST_LIMITS = new URL('../../deploy/analyst-limits.sql', import.meta.url)

/** Made by initdb. It owns nothing of ours, and no process of ours connects as it. */
export const SUPERUSER = 'farewatch'
/** Owns the database and all that is in it, and is no superuser. */
export const OWNER = 'farewatch_owner'
export const DATABASE = 'farewatch'

/** Server settings by name. */
export type Settings = Readonly<Record<string, string>>

/**
 * Creates the data directory with its superuser and an empty database, or checks the existing one. Returns whether it
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
  const statements = [`create database ${DATABASE};`]
  await runSingleUser(place, { data: partial, database: 'postgres', settings, statements })
  await rename(partial, place.data)
  // A renamed directory survives a power failure only after its parent is flushed.
  await flushDirectory(place.directory)
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

/** The password of the owner. Undefined if `ensureOwner` has not run. */
export async function readPassword({ ownerPasswordFile }: Place): Promise<string | undefined> {
  return (await readFile(ownerPasswordFile, 'utf8').catch(undefinedIfMissing))?.trim()
}

/**
 * Returns the password of the owner. If its file is missing, or version 0.1 has run on these data, the superuser creates
 * the owner first and gives it the database with all that is in it, which the superuser owned in version 0.1. The
 * server must not run.
 */
export async function ensureOwner(place: Place, settings: Settings): Promise<string> {
  const known = await readPassword(place)
  if (known !== undefined && !existsSync(place.usersOf01)) return known
  const password = known ?? newPassword()
  const statements = [ownerStatements(password), await readFile(ANALYST_LIMITS, 'utf8')]
  await runSingleUser(place, { data: place.data, database: DATABASE, settings, statements })
  await createOnce(place.ownerPasswordFile, `${password}\n`)
  await rm(place.usersOf01, { recursive: true, force: true })
  return password
}

/**
 * `reassign owned` refuses what the superuser of initdb owns. A login of an analyst is created by the owner, which also
 * limits it, ends its sessions, and reads where the data lie.
 */
function ownerStatements(password: string): string {
  const ours = (space: string) =>
    `${space} in (select oid from pg_namespace where nspname !~ '^pg_' and nspname <> 'information_schema')`
  return `
do $$
declare
  change text;
begin
  if not exists (select from pg_roles where rolname = '${OWNER}') then
    create role ${OWNER} login createrole;
  end if;
  alter role ${OWNER} password '${password}';
  if not exists (select from pg_roles where rolname = 'farewatch_analyst') then
    create role farewatch_analyst nologin;
  end if;
  grant farewatch_analyst to ${OWNER} with admin option;
  grant pg_use_reserved_connections, pg_read_all_settings to ${OWNER};
  alter database ${DATABASE} owner to ${OWNER};
  for change in
    select format('schema %I', nspname) from pg_namespace
     where nspowner = 10 and nspname !~ '^pg_' and nspname <> 'information_schema'
    union all
    select format('table %s', oid::regclass)
      from pg_class c
     where relowner = 10 and relkind in ('r', 'p', 'v', 'm', 'S') and ${ours('relnamespace')}
       -- A sequence of a column follows its table.
       and not exists (select from pg_depend d
                        where d.classid = 'pg_class'::regclass and d.objid = c.oid and d.deptype in ('a', 'i')
                          and c.relkind = 'S')
    union all
    select format('routine %s', oid::regprocedure) from pg_proc where proowner = 10 and ${ours('pronamespace')}
    union all
    select format('type %s', oid::regtype) from pg_type
     where typowner = 10 and (typtype in ('d', 'e', 'r')
                              or typrelid in (select oid from pg_class where relkind = 'c'))
       and ${ours('typnamespace')}
    union all
    select format('statistics %I.%I', stxnamespace::regnamespace::text, stxname) from pg_statistic_ext
     where stxowner = 10 and ${ours('stxnamespace')}
  loop
    execute format('alter %s owner to ${OWNER}', change);
  end loop;
end
$$;
`
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

/** Hexadecimal: it needs no escaping in a URL. */
function newPassword(): string {
  return randomBytes(24).toString('hex')
}

/** The superuser's, for repairs. */
async function writePassword(place: Place): Promise<void> {
  await rm(place.passwordFile, { force: true })
  await writeFile(place.passwordFile, `${newPassword()}\n`, {
    ...{ mode: 0o600, flag: 'wx', flush: true },
  })
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
  const { exitCode, output } = await withPlainPath(place, (folder) =>
    runBinary(join(folder, 'bin', 'initdb'), args.flat(), {
      cwd: place.directory,
      user: place.user,
    }),
  )
  if (exitCode !== 0) throw initFailed(place, output)
}

/** initdb gives its own path to a shell, between double quotes. */
const SHELL_READS = /["$`\\]/

async function withPlainPath<T>(place: Place, run: (binaries: string) => Promise<T>): Promise<T> {
  const { folder } = place.binaries
  if (!SHELL_READS.test(folder)) return run(folder)
  const copy = await mkdtemp(join(tmpdir(), 'farewatch-initdb-'))
  try {
    await giveToServer(place, copy)
    await cp(folder, copy, { recursive: true, verbatimSymlinks: true })
    return await run(copy)
  } finally {
    await rm(copy, { recursive: true })
  }
}

interface SingleUserRun {
  readonly data: string
  readonly database: string
  readonly settings: Settings
  readonly statements: readonly string[]
}

/**
 * Runs statements as the superuser. Single-user mode needs no port and no password, and no other process can connect
 * meanwhile. A semicolon and an empty line end a statement (`-j`).
 */
async function runSingleUser(
  place: Place,
  { data, database, settings, statements }: SingleUserRun,
): Promise<void> {
  const quiet = {
    ...settings,
    log_checkpoints: 'off',
    // An error would print the statement, which may hold a password.
    log_min_error_statement: 'panic',
    log_error_verbosity: 'terse',
  }
  const { exitCode, output } = await runBinary(
    join(place.binaries.folder, 'bin', 'postgres'),
    ['--single', '-j', '-D', data, ...settingArguments(quiet), database],
    { cwd: place.directory, user: place.user, input: `${statements.join('\n\n')}\n\n` },
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
    `PostgreSQL could not prepare its data directory in ${directory}; fix what its output names, ` +
      `${OR_SET_DATABASE_URL}. Its output:\n${output}`,
  )
}

async function giveToServer({ user }: Place, path: string): Promise<void> {
  if (user !== undefined) await chown(path, user.uid, user.gid)
}
