import { readFile } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'
import {
  type Migration,
  type MigrationProvider,
  type MigrationResult,
  type MigrationResultSet,
  Migrator,
} from 'kysely/migration'
import { AppError } from '../base/errors.ts'
import { endLongSessions } from './analyst-logins.ts'
import { type Db, PRIVATE_SCHEMA, sql } from './database.ts'
import { type LiveProcess, listLiveProcesses } from './live-processes.ts'
import {
  appliedMigrations,
  isOf01,
  type MigrationFile,
  readMigrations,
  refuseNewerSchema,
} from './schema-version.ts'
import { migrationError } from './session-lock.ts'
import { inTransaction } from './transaction.ts'

/** Runs in the transaction of the last migration. Does nothing unless the user is a superuser. */
const ANALYST_LIMITS = new URL('../../../deploy/analyst-limits.sql', import.meta.url)
/** The last of the migrations that make the schema of version 0.1. */
const LAST_ADOPTED = '0012_public_fares'

/** Processes run that the new schema would break. */
class ProcessesMustStopError extends AppError {
  override readonly name = 'ProcessesMustStopError'
  override readonly code = 'db.processes_must_stop'
  override readonly retryable = true

  constructor(processes: readonly LiveProcess[]) {
    super(
      `the new schema stops what runs now: stop ${nameProcesses(processes)} first, or let "bin/farewatch migrate --wait" ` +
        'wait for their end. A process that was killed is forgotten after a minute',
    )
  }
}

/** @example 'worker 1.0.0 on host-a (pid 17)' */
export function nameProcesses(processes: readonly LiveProcess[]): string {
  return processes
    .map(({ role, version, host, pid }) => `${role} ${version} on ${host} (pid ${pid})`)
    .join(', ')
}

export interface MigrateOptions {
  /** How long to wait for the end of processes that the new schema would break. Default: not at all. */
  readonly waitMs?: number
  /** Called each time that the processes that are waited for have changed. */
  readonly onWait?: (processes: readonly LiveProcess[]) => void
  /** For tests. Default: the newest. */
  readonly last?: string
  /** For tests. */
  readonly lockTimeoutMs?: number
}

/** A migration that waits for a table gives up after this time, because what comes later waits behind it. */
const LOCK_TIMEOUT_MS = 4_000
/** For this time it is tried again. */
const LOCK_RETRIES_MS = 60_000
/** PostgreSQL's codes of a lock that was not free in time, and of a deadlock. */
const OF_LOCKS: ReadonlySet<unknown> = new Set(['55P03', '40P01'])
const LONG_SESSION_SECONDS = 30

/**
 * Applies the missing migrations under kysely's lock: of many processes that start at once, one migrates. Returns the
 * names of the migrations that this call applied. Throws ProcessesMustStopError.
 */
export async function migrate(db: Db, options: MigrateOptions = {}): Promise<string[]> {
  const files = await readMigrations()
  await untilProcessesStop(db, files, options)
  await adopt(db, files)
  if (await refuseNewerSchema(db, files)) return []
  const migrator = new Migrator({
    db,
    provider: providerOf(files, options.lockTimeoutMs ?? LOCK_TIMEOUT_MS),
    migrationTableSchema: PRIVATE_SCHEMA,
  })
  const apply = () =>
    options.last === undefined ? migrator.migrateToLatest() : migrator.migrateTo(options.last)
  // A forgotten transaction of an analyst would hold up every migration of what it has read.
  const clearing = setInterval(() => {
    endLongSessions(db, LONG_SESSION_SECONDS).catch(() => undefined)
  }, 1_000)
  try {
    const applied = await repeatForLocks(db, apply)
    return applied.filter((r) => r.status === 'Success').map((r) => r.migrationName)
  } finally {
    clearInterval(clearing)
  }
}

/** Processes that go on hold locks for moments, and a migration may wait for them in another order than they do. */
async function repeatForLocks(
  db: Db,
  apply: () => Promise<MigrationResultSet>,
): Promise<readonly MigrationResult[]> {
  const endsMs = performance.now() + LOCK_RETRIES_MS
  for (;;) {
    const { error, results = [] } = await apply()
    if (error === undefined) return results
    const { code } = error as { code?: unknown }
    if (!OF_LOCKS.has(code) || performance.now() > endsMs) throw await migrationError(db, error)
    await delay(500 + Math.random() * 1_000)
  }
}

/** Waits until no process runs that a missing migration would break. Throws ProcessesMustStopError. */
async function untilProcessesStop(
  db: Db,
  files: readonly MigrationFile[],
  { waitMs = 0, onWait, last }: MigrateOptions,
): Promise<void> {
  const applied = (await appliedMigrations(db)).map(({ name }) => name)
  const isMissing = ({ name }: MigrationFile) =>
    !applied.includes(name) && (last === undefined || name <= last)
  const mustStop = files.filter(isMissing).some(({ olderCodeMayRun }) => !olderCodeMayRun)
  if (applied.length === 0 || !mustStop) return
  const endsMs = performance.now() + waitMs
  let named = ''
  for (;;) {
    const processes = await listLiveProcesses(db)
    if (processes.length === 0) return
    if (performance.now() >= endsMs) throw new ProcessesMustStopError(processes)
    if (nameProcesses(processes) !== named) onWait?.(processes)
    named = nameProcesses(processes)
    await delay(500)
  }
}

/** Names the schema of version 0.1 as today's. Throws SchemaBefore01Error for an older one. */
async function adopt(db: Db, files: readonly MigrationFile[]): Promise<void> {
  if (!isOf01(await appliedMigrations(db))) return
  const names = files.map((file) => file.name).filter((name) => name <= LAST_ADOPTED)
  await inTransaction(db, async (tx) => {
    // Of processes that start together, one adopts.
    await sql`lock table migration_note in exclusive mode`.execute(tx)
    if (!isOf01(await appliedMigrations(tx))) return
    await sql`delete from migration_note`.execute(tx)
    await sql`delete from kysely_migration`.execute(tx)
    await sql`
      insert into kysely_migration (name, timestamp) select name, now()::text from unnest(${names}::text[]) name
    `.execute(tx)
    await sql`
      insert into migration_note (name, older_code_may_run) select name, false from unnest(${names}::text[]) name
    `.execute(tx)
  })
}

function providerOf(files: readonly MigrationFile[], lockTimeoutMs: number): MigrationProvider {
  const asMigration = (file: MigrationFile): Migration => ({
    up: async (db) => {
      await sql`select set_config('lock_timeout', ${String(lockTimeoutMs)}, true)`.execute(db)
      await sql.raw(file.text).execute(db)
      if (file === files.at(-1)) await sql.raw(await readFile(ANALYST_LIMITS, 'utf8')).execute(db)
      await (db as Db)
        .withSchema(PRIVATE_SCHEMA)
        .insertInto('migration_note')
        .values({ name: file.name, older_code_may_run: file.olderCodeMayRun })
        .execute()
    },
  })
  return {
    getMigrations: async () =>
      Object.fromEntries(files.map((file) => [file.name, asMigration(file)])),
  }
}
