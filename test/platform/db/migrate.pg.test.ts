import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, onTestFinished } from 'vitest'
import { type Db, openDatabase, sql } from '../../../src/platform/db/database.ts'
import { migrate, nameProcesses } from '../../../src/platform/db/migrate.ts'
import {
  assertMigrated,
  SchemaTooNewError,
  SchemaTooOldError,
} from '../../../src/platform/db/schema-version.ts'
import { silentLog } from '../../support/silent-log.ts'
import { it } from '../../support/test-database.ts'
import { until } from '../../support/until.ts'
import { createEmptyDatabase, openAnother } from './empty-database.ts'
import { backendOf, countWaiting } from './sessions.ts'

const FOLDER = path.resolve(import.meta.dirname, '../../../migrations')
const FILES = readdirSync(FOLDER).sort((a, b) => a.localeCompare(b, 'en'))
const NAMES = FILES.map((file) => path.basename(file, '.sql'))

/** The last of the migrations that make the schema of version 0.1. */
const LAST_OF_01 = '0012_public_fares'
/** What follows the first and ends with the second lets older code run. */
const [LAST_THAT_STOPS, LAST_THAT_DOES_NOT] = ['0024_renumbered_places', '0027_followed_paces']

/** Records a migration of a newer version. */
async function applyNewer(
  db: Db,
  { olderCodeMayRun }: { olderCodeMayRun: boolean },
): Promise<void> {
  await sql`insert into kysely_migration values ('9999_newer', now()::text)`.execute(db)
  await sql`insert into migration_note values ('9999_newer', ${olderCodeMayRun})`.execute(db)
}

async function appliedNames(db: Db): Promise<string[]> {
  const { rows } = await sql<{ name: string }>`select name from migration_note order by 1`.execute(
    db,
  )
  return rows.map(({ name }) => name)
}

describe('the migrations', () => {
  it('are applied once when ten processes start at the same time', async () => {
    const url = await createEmptyDatabase()
    const processes = Array.from({ length: 10 }, () => openAnother(url))

    const applied = await Promise.all(processes.map(({ db }) => migrate(db)))

    expect(applied.filter((names) => names.length > 0)).toEqual([NAMES])
    expect(await appliedNames(openAnother(url).db)).toEqual(NAMES)
  })

  it('are all rolled back when one of them fails', async () => {
    const { db } = openAnother(await createEmptyDatabase())
    await sql`create schema farewatch create view routes_current as select 1 as in_the_way`.execute(
      db,
    )

    await expect(migrate(db)).rejects.toThrow(/routes_current/)

    const { rows } = await sql`
      select relname from pg_class where relnamespace = 'farewatch_private'::regnamespace and relname !~ 'kysely'
    `.execute(db)
    expect(rows).toEqual([])
    await expect(assertMigrated(db)).rejects.toThrow(SchemaTooOldError)
  })
})

describe('a migration', () => {
  it('ends with the session that holds its lock, if that is not released in time', async () => {
    const url = await createEmptyDatabase()
    const { db } = openAnother(url)
    const impatient = openDatabase({
      url,
      applicationName: 'test',
      log: silentLog,
      statementTimeoutMs: 100,
    })
    onTestFinished(() => impatient.close())

    const { holder, refused } = await db.connection().execute(async (session) => {
      await sql`select pg_advisory_lock(3853314791062309107)`.execute(session)
      const err: unknown = await migrate(impatient.db).catch((thrown: unknown) => thrown)
      return { holder: await backendOf(session), refused: err }
    })

    expect(refused).toMatchObject({ code: 'db.lock_held' })
    expect(String(refused)).toContain(`process ${holder} (test another)`)
  })
})

describe('migrating while processes run', () => {
  const announce = (db: Db, pid: number) =>
    sql`
    insert into process (id, role, version, host, pid)
    values (gen_random_uuid(), 'worker', '0.1.0', 'host-a', ${pid})
  `.execute(db)

  // Fault: `migrate` runs while processes of the version before live, or an analyst's transaction is open.
  it('is refused while processes live that the new schema would stop, and names them', async () => {
    const { db } = openAnother(await createEmptyDatabase())
    await migrate(db, { last: '0011_public_routes' })
    await announce(db, 17)

    const refused: unknown = await migrate(db).catch((err: unknown) => err)

    expect(refused).toMatchObject({ code: 'db.processes_must_stop' })
    expect(String(refused)).toContain('stop worker 0.1.0 on host-a (pid 17) first')
    expect(await appliedNames(db)).toHaveLength(11)
  })

  it('waits for their end where that is asked, and forgets those that were killed', async () => {
    const { db } = openAnother(await createEmptyDatabase())
    await migrate(db, { last: '0011_public_routes' })
    await announce(db, 17)
    const waited: string[] = []

    const migrating = migrate(db, {
      waitMs: 60_000,
      onWait: (processes) => void waited.push(nameProcesses(processes)),
    })
    await until('the wait', () => waited.length > 0)
    await sql`update process set last_progress_at = clock_timestamp() - interval '61 s'`.execute(db)

    expect(await migrating).toEqual(NAMES.slice(11))
    expect(waited).toEqual(['worker 0.1.0 on host-a (pid 17)'])
  })

  it('goes on while processes run that the new schema does not break', async () => {
    const { db } = openAnother(await createEmptyDatabase())
    await migrate(db, { last: LAST_THAT_STOPS })
    await announce(db, 17)

    expect(await migrate(db, { last: LAST_THAT_DOES_NOT })).toEqual(
      NAMES.filter((name) => name > LAST_THAT_STOPS && name <= LAST_THAT_DOES_NOT),
    )
  })

  it('is repeated until the tables are free, so that nothing waits behind it for long', async () => {
    const { db } = openAnother(await createEmptyDatabase())
    await migrate(db, { last: LAST_OF_01 })
    let migrating: Promise<string[]> | undefined
    await db.transaction().execute(async (tx) => {
      await sql`lock table reseller in access exclusive mode`.execute(tx)
      migrating = migrate(db, { lockTimeoutMs: 50 })
      // The wait has ended once: another reader of the table is not behind it.
      await until('a first attempt', async () => (await countWaiting(db)) === 1)
      await until('its end', async () => (await countWaiting(db)) === 0)
    })

    expect(await migrating).toEqual(NAMES.filter((name) => name > LAST_OF_01))
  })
})

describe('a database that a newer version has migrated', () => {
  it('is accepted when the newer migration lets older code run', async ({ db }) => {
    await applyNewer(db, { olderCodeMayRun: true })

    expect(await migrate(db)).toEqual([])
    await expect(assertMigrated(db)).resolves.toBeUndefined()
    expect(await appliedNames(db)).toEqual([...NAMES, '9999_newer'])
  })

  // Fault: Older code starts on a newer database.
  it('is refused with advice when older code must stop', async ({ db }) => {
    await applyNewer(db, { olderCodeMayRun: false })

    const error = await assertMigrated(db).catch((err: unknown) => err)

    expect(error).toBeInstanceOf(SchemaTooNewError)
    expect(error).toMatchObject({
      code: 'db.schema_too_new',
      retryable: false,
      message: expect.stringMatching(
        /^the database has schema 9999_newer of a newer farewatch, and this farewatch knows schemas up to \d{4}_\w+: start the newer version again, or restore a backup/,
      ) as string,
    })
    await expect(migrate(db)).rejects.toThrow(SchemaTooNewError)
  })
})

describe('a database that was never migrated', () => {
  it('is refused with advice', async () => {
    const { db } = openAnother(await createEmptyDatabase())

    const error = await assertMigrated(db).catch((err: unknown) => err)

    expect(error).toBeInstanceOf(SchemaTooOldError)
    expect(error).toMatchObject({
      code: 'db.schema_too_old',
      retryable: true,
      message: expect.stringMatching(/0001_base: run "bin\/farewatch migrate" first/) as string,
    })
  })
})

describe('a database that an older version has migrated', () => {
  it('is refused, and the error names the first missing migration', async ({ db }) => {
    await sql`delete from migration_note where name >= '0003'`.execute(db)

    await expect(assertMigrated(db)).rejects.toThrow(
      'the database lacks migration 0003_places_and_routes:',
    )
  })
})

describe('every migration', () => {
  it.for(FILES)(
    '%s is numbered, and its first line says whether older code may run on it',
    (file) => {
      expect(file).toMatch(/^\d{4}_[a-z][a-z0-9_]*\.sql$/)
      expect(readFileSync(path.join(FOLDER, file), 'utf8')).toMatch(
        /^-- older code: (may run|must stop)\n-- [A-Z].*\.\n/,
      )
    },
  )

  it('has its own number', () => {
    const numbers = FILES.map((file) => Number(file.slice(0, 4)))

    expect(numbers).toEqual([...new Set(numbers)])
  })
})
