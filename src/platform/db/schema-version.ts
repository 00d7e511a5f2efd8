import { readdir, readFile } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'
import { AppError } from '../base/errors.ts'
import { type Db, PRIVATE_SCHEMA, sql } from './database.ts'
import { selectOne } from './transaction.ts'

const NOT_ALLOWED = '42501'
const MIGRATIONS_DIR = new URL('../../../migrations/', import.meta.url)
/** The first line of every migration says whether processes of the previous version may run on the new schema. */
const COMPATIBILITY_LINE = /^-- older code: (may run|must stop)\n/

/**
 * Version 0.1 had a migration for each of its steps. The first files of today make the same schema at once, so a
 * database at the last step of 0.1 is adopted: it gets their names instead. Any older one comes up through version
 * 0.1.
 */
const STEPS_OF_0_1 = { first: '0001_ground', last: '0083_constraint_names' }

export interface MigrationFile {
  readonly name: string
  readonly text: string
  readonly olderCodeMayRun: boolean
}

/** A newer version migrated the database, and this code cannot run on the new schema. */
export class SchemaTooNewError extends AppError {
  override readonly name = 'SchemaTooNewError'
  override readonly code = 'db.schema_too_new'

  constructor(schema: string, known: string) {
    super(
      `the database has schema ${schema} of a newer farewatch, and this farewatch knows schemas up to ${known}: ` +
        'start the newer version again, or restore a backup from before the upgrade',
    )
  }
}

/** The database lacks a migration, and this process does not migrate. */
export class SchemaTooOldError extends AppError {
  override readonly name = 'SchemaTooOldError'
  override readonly code = 'db.schema_too_old'
  override readonly retryable = true

  constructor(migration: string) {
    super(`the database lacks migration ${migration}: run "bin/farewatch migrate" first`)
  }
}

/** DATABASE_URL names another role than the owner of the schema. */
export class NotOwnerError extends AppError {
  override readonly name = 'NotOwnerError'
  override readonly code = 'db.not_owner'

  constructor() {
    super(
      'the role of DATABASE_URL may not read the tables of farewatch: give that of their owner. The login of an analyst is ' +
        'for psql and "mcp"',
    )
  }
}

/** A version before 0.1 left the database, and this version does not have its migrations. */
export class SchemaBefore01Error extends AppError {
  override readonly name = 'SchemaBefore01Error'
  override readonly code = 'db.schema_before_0_1'

  constructor(schema: string) {
    super(
      `the database has schema ${schema}, which only farewatch 0.1 can upgrade: run "bin/farewatch migrate" of version 0.1 ` +
        '(git tag v0.1.0, commit 9a2621b3ac4e2781a6c83902a281d2259df46ed9) first, then start this version again',
    )
  }
}

/** Throws SchemaBefore01Error for a schema between the first and the last step of 0.1. */
export function isOf01(applied: readonly { name: string }[]): boolean {
  const names = applied.map(({ name }) => name)
  if (!names.includes(STEPS_OF_0_1.first)) return false
  if (names.includes(STEPS_OF_0_1.last)) return true
  throw new SchemaBefore01Error(names.at(-1) ?? '')
}

/** Throws SchemaTooOldError or SchemaTooNewError unless this code can run on the current schema. */
export async function assertMigrated(db: Db): Promise<void> {
  const files = await readMigrations()
  const applied = await appliedMigrations(db)
  isOf01(applied)
  const names = new Set(applied.map(({ name }) => name))
  const missing = files.find((file) => !names.has(file.name))
  if (missing !== undefined) throw new SchemaTooOldError(missing.name)
  await refuseNewerSchema(db, files)
}

const SCHEMA_EVERY_MS = 10_000

/**
 * Rejects with SchemaTooNewError once a newer version has made a schema on which this code cannot run. A database that
 * does not answer says nothing.
 */
export async function watchSchema(db: Db, signal: AbortSignal): Promise<never> {
  const files = await readMigrations()
  for (;;) {
    await delay(SCHEMA_EVERY_MS, undefined, { signal })
    await refuseNewerSchema(db, files).catch((err: unknown) => {
      if (err instanceof SchemaTooNewError) throw err
    })
  }
}

export async function readMigrations(): Promise<MigrationFile[]> {
  const names = (await readdir(MIGRATIONS_DIR)).filter((name) => name.endsWith('.sql')).sort()
  return Promise.all(
    names.map(async (name) => {
      const text = await readFile(new URL(name, MIGRATIONS_DIR), 'utf8')
      const found = COMPATIBILITY_LINE.exec(text)
      if (found === null) throw new Error(`${name} does not say whether older code may run on it`)
      return { name: name.replace(/\.sql$/, ''), text, olderCodeMayRun: found[1] === 'may run' }
    }),
  )
}

/** Returns whether a newer version has migrated the database. Throws SchemaTooNewError unless older code may run on it. */
export async function refuseNewerSchema(db: Db, files: readonly MigrationFile[]): Promise<boolean> {
  const known = new Set(files.map((file) => file.name))
  const applied = await appliedMigrations(db)
  const newer = applied.filter(({ name }) => !known.has(name))
  if (newer.every(({ olderCodeMayRun }) => olderCodeMayRun)) return newer.length > 0
  throw new SchemaTooNewError(applied.at(-1)?.name ?? '', files.at(-1)?.name ?? '')
}

export async function appliedMigrations(
  db: Db,
): Promise<{ name: string; olderCodeMayRun: boolean }[]> {
  const { exists } = await selectOne(
    sql<{
      exists: boolean
    }>`select to_regclass(${`${PRIVATE_SCHEMA}.migration_note`}) is not null as exists`,
    db,
  ).catch((err: unknown) => {
    throw (err as { code?: unknown }).code === NOT_ALLOWED ? new NotOwnerError() : err
  })
  if (!exists) return []
  return db
    .withSchema(PRIVATE_SCHEMA)
    .selectFrom('migration_note')
    .select(['name', 'older_code_may_run as olderCodeMayRun'])
    .orderBy('name')
    .execute()
}

interface DatabaseVersions {
  /** The name of the last migration. */
  readonly schema: string
  readonly postgresql: string
}

/** Returns the versions of the schema and of the server. Throws when the database was never migrated. */
export async function readVersions(db: Db): Promise<DatabaseVersions> {
  return selectOne(
    sql<DatabaseVersions>`
      select max(name) as schema, current_setting('server_version') as postgresql
        from ${sql.table(`${PRIVATE_SCHEMA}.migration_note`)}
    `,
    db,
  )
}
