import { statfs } from 'node:fs/promises'
import { messageOf } from '../../base/errors.ts'
import { type Db, sql } from '../../db/database.ts'
import { probeDatabase } from '../../db/database-health.ts'
import { assertMigrated, readVersions } from '../../db/migrate.ts'
import { selectOne } from '../../db/transaction.ts'
import { type DoctorDeps, type Finding, look, ok, wrong } from './doctor-finding.ts'

/** The clocks of our processes and of the stores may differ by less than what their decisions turn on. */
const MAX_SKEW_MS = 2_000
/** A database that has less of its disk left is about to stop. */
const FREE = { wrongBytes: 1e9, wrongShare: 0.05, lookShare: 0.1 }

/** Whether the database answers at all, and is new enough. */
export async function examineDatabase({ app }: DoctorDeps): Promise<Finding> {
  const { config, database } = app
  const { hostname, port, pathname, searchParams } = new URL(config.DATABASE_URL)
  const host = searchParams.get('host') ?? (hostname || 'localhost')
  const version = await probeDatabase(database.db, config.DATABASE_URL)
  return ok('database', `PostgreSQL ${version} at ${host}:${port || '5432'}${pathname}`)
}

export async function examineSchema({ app }: DoctorDeps): Promise<Finding> {
  const { db } = app.database
  try {
    await assertMigrated(db)
  } catch (err) {
    return wrong('schema', messageOf(err), 'bin/farewatch migrate')
  }
  return ok('schema', `up to date: ${(await readVersions(db)).schema}`)
}

/** Analysts, and `bin/farewatch sql`, ask as a role that reads the public SQL and nothing else. */
export async function examineRoles({ app }: DoctorDeps): Promise<Finding> {
  const { user, exists, member, peeks } = await readRoles(app.database.db)
  if (!exists) {
    const todo =
      'as an administrator: create role farewatch_analyst nologin; then bin/farewatch migrate'
    return wrong('roles', 'the role farewatch_analyst is missing', todo)
  }
  if (peeks) {
    const todo = 'revoke usage on schema farewatch_private from farewatch_analyst'
    return wrong('roles', 'farewatch_analyst may look into the private tables', todo)
  }
  if (!member) {
    const todo = `as an administrator: grant farewatch_analyst to "${user}"`
    return look(
      'roles',
      `"${user}" may not ask as farewatch_analyst: bin/farewatch sql is refused`,
      todo,
    )
  }
  return ok('roles', `"${user}" works, farewatch_analyst reads the public SQL alone`)
}

async function readRoles(
  db: Db,
): Promise<{ user: string; exists: boolean; member: boolean; peeks: boolean }> {
  const { rows } = await sql<{ user: string; member: boolean; peeks: boolean }>`
    select current_user as "user", pg_has_role(current_user, r.oid, 'SET') as member,
           has_schema_privilege(r.oid, 'farewatch_private', 'usage') as peeks
      from pg_roles r
     where r.rolname = 'farewatch_analyst'
  `.execute(db)
  const [found] = rows
  if (found !== undefined) return { ...found, exists: true }
  const { user } = await selectOne(sql<{ user: string }>`select current_user as "user"`, db)
  return { user, exists: false, member: false, peeks: false }
}

/** The clocks of this machine, the database and the queue's store. */
export async function examineClock({ app, queue }: DoctorDeps): Promise<Finding> {
  const asked = app.clock.now().getTime()
  const { now } = await selectOne(
    sql<{ now: Date }>`select clock_timestamp() as now`,
    app.database.db,
  )
  const databaseMs = Math.round(now.getTime() - (asked + app.clock.now().getTime()) / 2)
  const queueMs = await queue.facts().then(
    ({ clockSkewMs }) => clockSkewMs,
    () => 0,
  )
  const worst = Math.max(Math.abs(databaseMs), Math.abs(queueMs))
  const says = `the database is ${aheadText(databaseMs)} of this machine, the queue's store ${aheadText(queueMs)}`
  if (worst <= MAX_SKEW_MS) return ok('clock', `${Math.round(worst)} ms apart at most`)
  return wrong('clock', says, 'set the clocks, and keep them so: timedatectl set-ntp true')
}

function aheadText(ms: number): string {
  return `${(Math.abs(ms) / 1000).toFixed(1)} s ${ms < 0 ? 'behind' : 'ahead'}`
}

/** How much the database holds; and how much room it has, where its disk is one of this machine's. */
export async function examineDisk({ app }: DoctorDeps): Promise<Finding> {
  const { db } = app.database
  const { bytes } = await selectOne(
    sql<{ bytes: number }>`select pg_database_size(current_database()) as bytes`,
    db,
  )
  const free = await readFree(db)
  const holds = `the database takes ${gigabytes(bytes)}`
  if (free === undefined) return ok('disk', `${holds}; its disk is not of this machine`)
  const says = `${holds}; ${gigabytes(free.bytes)} are free, ${Math.round(free.share * 100)} % of its disk`
  const todo = 'make room, or give it a larger disk: docs/reference/deploying.md tells what grows'
  if (free.bytes < FREE.wrongBytes || free.share < FREE.wrongShare) return wrong('disk', says, todo)
  return free.share < FREE.lookShare ? look('disk', says, todo) : ok('disk', says)
}

/** Undefined where the folder of the database is none of ours to see. */
async function readFree(db: Db): Promise<{ bytes: number; share: number } | undefined> {
  try {
    const { folder, local } = await selectOne(
      sql<{ folder: string; local: boolean }>`
        select current_setting('data_directory') as folder,
               coalesce(inet_client_addr() = inet_server_addr(), true) as local
      `,
      db,
    )
    if (!local) return undefined
    const { bavail, blocks, bsize } = await statfs(folder)
    return { bytes: bavail * bsize, share: bavail / blocks }
  } catch {
    return undefined
  }
}

function gigabytes(bytes: number): string {
  return bytes < 1e9 ? `${(bytes / 1e6).toFixed(0)} MB` : `${(bytes / 1e9).toFixed(1)} GB`
}
