import { daysUntilFull, readGrowth, readPartSizes } from '../../history/roll-up-days.ts'
import { messageOf } from '../../platform/base/errors.ts'
import { aheadText } from '../../platform/base/text.ts'
import { readAnalystRisks } from '../../platform/db/analyst-logins.ts'
import { type Db, sql } from '../../platform/db/database.ts'
import {
  assertWritable,
  blockerText,
  endSession,
  listBlockers,
  probeDatabase,
  readStorage,
} from '../../platform/db/database-health.ts'
import { readGeneration, readIdentity } from '../../platform/db/generations.ts'
import { readHistoryFloor } from '../../platform/db/history-floor.ts'
import {
  assertMigrated,
  readVersions,
  SchemaTooNewError,
} from '../../platform/db/schema-version.ts'
import { databaseSkewMs, selectOne } from '../../platform/db/transaction.ts'
import { isAlmostFull, LIMITS } from '../../views/status-limits.ts'
import { type DoctorDeps, type Finding, ok, warning, wrong } from './doctor-finding.ts'

/** Whether the database answers and is new enough. */
export async function examineDatabase({ app }: DoctorDeps): Promise<Finding> {
  const { config, database } = app
  const { hostname, port, pathname, searchParams } = new URL(config.DATABASE_URL)
  const host = searchParams.get('host') ?? (hostname || 'localhost')
  const version = await probeDatabase(database, config.DATABASE_URL)
  await assertWritable(database.db)
  return ok('database', `PostgreSQL ${version} at ${host}:${port || '5432'}${pathname}`)
}

export async function examineSchema({ app }: DoctorDeps): Promise<Finding> {
  const { db } = app.database
  try {
    await assertMigrated(db)
  } catch (err) {
    const isOlder = err instanceof SchemaTooNewError
    const todo = isOlder ? 'use the newer version of farewatch' : 'bin/farewatch migrate'
    return wrong('schema', messageOf(err), todo)
  }
  return ok('schema', `up to date: ${(await readVersions(db)).schema}`)
}

/** Sessions that others wait for. Without any there is nothing to say. */
export async function examineLocks({ app }: DoctorDeps): Promise<Finding[]> {
  const blockers = await listBlockers(app.database.db)
  return blockers.map((one) => wrong('locks', blockerText(one), endSession(one)))
}

/** Whether the role of the analysts exists, reads only the public SQL, and can be used by `bin/farewatch sql`. */
export async function examineRoles({ app }: DoctorDeps): Promise<Finding> {
  const { user, exists, member, readsPrivate } = await readRoles(app.database.db)
  if (!exists) {
    const todo =
      'as an administrator: create role farewatch_analyst nologin; then bin/farewatch migrate'
    return wrong('roles', 'the role farewatch_analyst is missing', todo)
  }
  if (readsPrivate) {
    const todo = 'revoke usage on schema farewatch_private from farewatch_analyst'
    return wrong('roles', 'farewatch_analyst may use the private schema', todo)
  }
  if (!member) {
    const todo = `as an administrator: grant farewatch_analyst to "${user}"`
    return warning(
      'roles',
      `"${user}" is not a member of farewatch_analyst: bin/farewatch sql is refused`,
      todo,
    )
  }
  return ok('roles', `"${user}" owns the tables, farewatch_analyst reads only the public SQL`)
}

async function readRoles(
  db: Db,
): Promise<{ user: string; exists: boolean; member: boolean; readsPrivate: boolean }> {
  const { rows } = await sql<{ user: string; member: boolean; readsPrivate: boolean }>`
    select current_user as "user", pg_has_role(current_user, r.oid, 'SET') as member,
           has_schema_privilege(r.oid, 'farewatch_private', 'usage') as readsPrivate
      from pg_roles r
     where r.rolname = 'farewatch_analyst'
  `.execute(db)
  const [found] = rows
  if (found !== undefined) return { ...found, exists: true }
  const { user } = await selectOne(sql<{ user: string }>`select current_user as "user"`, db)
  return { user, exists: false, member: false, readsPrivate: false }
}

/** Whether a login of an analyst could stop farewatch. PostgreSQL allows that by default. */
export async function examineAnalysts({ app }: DoctorDeps): Promise<Finding[]> {
  const { logins, mayLock, maySignal, mayStore, unlimited } = await readAnalystRisks(
    app.database.db,
  )
  const found = [
    ...(mayLock ? ['may take advisory locks, which stop syncs, and store large objects'] : []),
    ...(mayStore ? ['may make temporary tables'] : []),
    ...(maySignal
      ? []
      : ['may lift their statement_timeout, and farewatch may not cancel their statements']),
    ...(unlimited.length > 0 ? ['may write temporary files without a limit'] : []),
  ]
  if (logins.length === 0 || found.length === 0) return []
  const todo = 'as a superuser, run deploy/analyst-limits.sql in the database'
  const says = `the logins of analysts (${logins.join(', ')}) ${found.join('; ')}`
  return [warning('analysts', says, todo)]
}

export const SYNCHRONIZE = 'synchronize the clocks: timedatectl set-ntp true'

/** Compares the clocks of this machine, the database and the store of the queue. */
export async function examineClock({ app, queue }: DoctorDeps): Promise<Finding> {
  const databaseMs = Math.round(await databaseSkewMs(app.database.db, app.clock))
  const queueMs = await queue.facts().then(
    ({ clockSkewMs }) => clockSkewMs,
    () => 0,
  )
  const worst = Math.max(Math.abs(databaseMs), Math.abs(queueMs))
  const says = `the clock of the database is ${aheadText(databaseMs)} that of this machine, that of the queue’s store is ${aheadText(queueMs)} it`
  if (worst <= 1_000 * LIMITS.clockSeconds)
    return ok('clock', `at most ${Math.round(worst)} ms apart`)
  return wrong('clock', says, SYNCHRONIZE)
}

/**
 * The size of the database, and the free space of its disk if the disk belongs to this machine and our role may
 * read where the data lies.
 */
export async function examineDisk({ app }: DoctorDeps): Promise<Finding> {
  const { databaseBytes, disk } = await readStorage(app.database.db)
  const growth = await readGrowth(app.database.db).catch(() => null)
  const holds = `the database has ${gigabytes(databaseBytes)}${await largestParts(app.database.db)}`
  if (disk === undefined)
    // Another name, so that a disk that is not seen does not read like one with enough space.
    return ok('space', `${holds}; the free space of its disk cannot be seen from here`)
  const { freeBytes } = disk
  const share = freeBytes / disk.totalBytes
  const days = daysUntilFull(freeBytes, growth)
  const full = days === null ? '' : `, enough for ${Math.floor(days)} days of its growth`
  const says = `${holds}; ${gigabytes(freeBytes)} of its disk are free (${Math.round(share * 100)} %)${full}`
  const todo =
    'free some space, or use a larger disk: docs/reference/deploying.md describes what grows'
  return isAlmostFull(disk) ? wrong('disk', says, todo) : ok('disk', says)
}

/** Since when the histories are complete, if old rows were archived, and whether all of these are deleted. */
export async function examinePrune({ app }: DoctorDeps): Promise<Finding[]> {
  const { db } = app.database
  const floor = await readHistoryFloor(db)
  if (floor === null) return []
  const { isLeft } = await selectOne(
    sql<{ isLeft: boolean }>`
      select bool_or(h.first_seq > case h.feed when 'route' then (select min(seq) from route_change)
                                               else (select min(seq) from availability_change) end) as "isLeft"
        from feed_head h
    `,
    db,
  )
  const since = `the histories are complete since ${floor.toISOString()}; earlier rows are archived`
  if (isLeft !== true) return [ok('prune', since)]
  const todo = 'if none runs now, run the last "bin/farewatch history prune" again'
  return [warning('prune', `${since}, but not all of them are deleted`, todo)]
}

/** Since when the present generation of the feeds lasts, and whether the start after a restore would begin another. */
export async function examineRestores({ app }: DoctorDeps): Promise<Finding> {
  const { db } = app.database
  const { number, beganAt } = await readGeneration(db)
  const why = number === 1 ? 'the database was never restored' : 'then the database was restored'
  const says = `generation ${number} of the feeds since ${beganAt.toISOString()}: ${why}`
  if ((await readIdentity(db)) !== undefined) return ok('restores', says)
  const todo = 'after every restore, run "bin/farewatch restored" before the services start'
  return warning(
    'restores',
    `${says}; the identity of the database cannot be read, so no start notices a restore`,
    todo,
  )
}

/** The parts that take most of the database. A database without our tables has none. */
async function largestParts(db: Db): Promise<string> {
  const parts = (await readPartSizes(db)).slice(0, 3)
  const texts = parts.map(({ part, bytes }) => `${part.replaceAll('_', ' ')} ${gigabytes(bytes)}`)
  return texts.length === 0 ? '' : ` (${texts.join(', ')})`
}

function gigabytes(bytes: number): string {
  return bytes < 1e9 ? `${(bytes / 1e6).toFixed(0)} MB` : `${(bytes / 1e9).toFixed(1)} GB`
}
