import { worstFirst } from '../health/checks.ts'
import { type DoctorReading, doctorWarnings, type Fact, factsOf } from '../health/doctor-checks.ts'
import { readStatus } from '../health/status-operations.ts'
import type { StatusWarning } from '../health/status-shapes.ts'
import { daysUntilFull, readGrowth, readPartSizes } from '../history/roll-up-days.ts'
import { withTimeout } from '../platform/base/clock.ts'
import type { CronTimes } from '../platform/base/cron.ts'
import { messageOf } from '../platform/base/errors.ts'
import type { Config } from '../platform/config/settings.ts'
import { readAnalystRisks } from '../platform/db/analyst-logins.ts'
import { type Db, sql } from '../platform/db/database.ts'
import { listBlockers, probeDatabase, readStorage } from '../platform/db/database-health.ts'
import { readGeneration, readIdentity } from '../platform/db/generations.ts'
import { readHistoryFloor } from '../platform/db/history-floor.ts'
import { assertMigrated, readVersions } from '../platform/db/schema-version.ts'
import { databaseSkewMs, selectOne } from '../platform/db/transaction.ts'
import type { QueueSystem } from '../platform/queue/queue-system.ts'
import { listBreakers } from '../upstream/breaker/breaker-state.ts'
import { readHealth } from '../upstream/breaker/circuit-breaker.ts'
import { countPastDepartures } from '../views/fare-operations.ts'
import type { App } from './app.ts'
import { statusDeps } from './health-deps.ts'
import { listAllSchedulers } from './periodic.ts'
import { listLastRuns, QUEUES } from './queue-state.ts'
import { schedulesOf, sendsTokenInClear, syncNameOf } from './settings-for.ts'

export interface DoctorDeps {
  readonly app: App
  readonly queue: QueueSystem
  /** The configuration as given. Stores that it does not set are embedded. */
  readonly given: Config
  /** Whether the running farewatch of this folder has a sandbox. */
  readonly runsSandbox: boolean
}

/** The status, and what takes more time. */
export interface Examination {
  readonly warnings: readonly StatusWarning[]
  readonly facts: readonly Fact[]
}

/** A store that does not answer within this time counts as down. */
const DEADLINE_MS = 10_000

/**
 * Reads the status and what takes more time than a status may. It changes nothing and sends no request to the upstream.
 *
 * Never rejects: what cannot be read is a warning. What depends on something that is down is not read, so that the
 * cause is not hidden among twenty warnings.
 */
export async function examine(deps: DoctorDeps): Promise<Examination> {
  const { app, queue } = deps
  const { db } = app.database
  const faults: { part: string; text: string }[] = []
  const read: Read = (part, work) =>
    withTimeout(work(), DEADLINE_MS).catch((err: unknown) => {
      faults.push({ part, text: messageOf(err) })
      return undefined
    })
  const database = await read('database', () => placeOf(deps))
  const isUp = database !== undefined
  // Before all that may wait for a lock.
  const blockers = isUp ? await read('locks', () => listBlockers(db)) : undefined
  const schema = isUp ? await read('schema', () => schemaOf(db)) : undefined
  const isUsable = schema !== undefined
  const status = isUsable
    ? await read('status', () => readStatus(statusDeps(app, queue)))
    : undefined
  const isQueueUp = status === undefined ? queue.kind === 'redis' : status.queue?.fault === null
  const reading: DoctorReading = {
    nowMs: app.clock.now().getTime(),
    faults,
    database,
    blockers,
    schema,
    store: isQueueUp ? await read('queue', () => queue.facts()) : undefined,
    ...(isUp ? await readDatabase(deps, read) : {}),
    ...(isUsable ? await readRecords(db, read) : {}),
    ...(isUsable && isQueueUp ? await readJobs(deps, read) : {}),
    shell: {
      usesSandbox: deps.given.UPSTREAM_BASE_URL === undefined && !deps.runsSandbox,
      lacksToken: deps.given.UPSTREAM_ACCESS_TOKEN === undefined && !deps.runsSandbox,
      sendsTokenInClear: sendsTokenInClear(app.config),
    },
  }
  const own = doctorWarnings(reading)
  return {
    warnings: worstFirst([...(status?.warnings ?? []), ...own]),
    facts: factsOf(reading),
  }
}

/** Undefined, and a fault, if it fails. */
type Read = <T>(part: string, work: () => Promise<T>) => Promise<T | undefined>

async function placeOf({ app: { config, database } }: DoctorDeps): Promise<string> {
  const { hostname, port, pathname, searchParams } = new URL(config.DATABASE_URL)
  const host = searchParams.get('host') ?? (hostname || 'localhost')
  const version = await probeDatabase(database, config.DATABASE_URL)
  return `PostgreSQL ${version} at ${host}:${port || '5432'}${pathname}`
}

async function schemaOf(db: Db): Promise<string> {
  await assertMigrated(db)
  return (await readVersions(db)).schema
}

async function readDatabase({ app, queue }: DoctorDeps, read: Read) {
  const { db } = app.database
  return {
    roles: await read('roles', () => readRoles(db)),
    analysts: await read('analysts', () => readAnalystRisks(db)),
    clocks: await read('clocks', async () => {
      const facts = await queue.facts().catch(() => ({ clockSkewMs: 0 }))
      return { databaseMs: await databaseSkewMs(db, app.clock), queueMs: facts.clockSkewMs }
    }),
    storage: await read('disk', async () => {
      const { databaseBytes, disk } = await readStorage(db)
      const growth = await readGrowth(db).catch(() => null)
      const days = disk === undefined ? null : daysUntilFull(disk.freeBytes, growth)
      const parts = (await readPartSizes(db)).slice(0, LARGEST_PARTS)
      return { databaseBytes, parts, disk, days }
    }),
  }
}

/** So many parts of the database are named. */
const LARGEST_PARTS = 3

async function readRoles(db: Db) {
  const { rows } = await sql<{ user: string; member: boolean; readsPrivate: boolean }>`
    select current_user as "user", pg_has_role(current_user, r.oid, 'SET') as member,
           has_schema_privilege(r.oid, 'farewatch_private', 'usage') as "readsPrivate"
      from pg_roles r
     where r.rolname = 'farewatch_analyst'
  `.execute(db)
  const [found] = rows
  return found === undefined
    ? { user: '', exists: false, member: false, readsPrivate: false }
    : { ...found, exists: true }
}

async function readRecords(db: Db, read: Read) {
  return {
    floor: await read('prune', () => readFloor(db)),
    generation: await read('generation', async () => ({
      ...(await readGeneration(db)),
      isKnown: (await readIdentity(db)) !== undefined,
    })),
    pastDepartures: await read('departures', () => countPastDepartures(db)),
    breakers: await read('upstream', async () => listBreakers((await readHealth(db)).breakers)),
  }
}

/** Since when the histories are complete, if old rows were archived, and whether some of these are left. */
async function readFloor(db: Db) {
  const since = await readHistoryFloor(db)
  if (since === null) return null
  const { isLeft } = await selectOne(
    sql<{ isLeft: boolean | null }>`
      select bool_or(h.first_seq > case h.feed when 'route' then (select min(seq) from route_change)
                                               else (select min(seq) from availability_change) end) as "isLeft"
        from feed_head h
    `,
    db,
  )
  return { since, isLeft: isLeft === true }
}

/** So many runs cover a day of the rarest work and some minutes of the rest. */
const RUNS_READ = 1_000
const DAY_MS = 86_400_000

async function readJobs(deps: DoctorDeps, read: Read) {
  const { app, queue, given } = deps
  const nowMs = app.clock.now().getTime()
  return {
    failing: await read('periodic work', async () => {
      const runs = await listLastRuns(queue, RUNS_READ)
      const lastOfEach = [...Map.groupBy(runs, ({ name }) => name).values()].flatMap(
        ([last]) => last ?? [],
      )
      // That of another version may never run again.
      return lastOfEach.filter(
        ({ failure, at }) => failure !== null && nowMs - at.getTime() < DAY_MS,
      )
    }),
    waiting: await read('waiting jobs', () => Promise.all(QUEUES.map((one) => waitOf(one, deps)))),
    // The sandbox has schedules of its own.
    differing:
      given.UPSTREAM_BASE_URL === undefined
        ? []
        : await read('schedules', () => differingSchedules(deps)),
  }
}

async function waitOf(name: string, { app, queue }: DoctorDeps) {
  const { waiting } = await queue.counts(name)
  const [oldest] = waiting === 0 ? [] : await queue.jobs(name, 'waiting', 1)
  const waitedMs =
    oldest === undefined ? 0 : app.clock.now().getTime() - oldest.enqueuedAt.getTime()
  return { queue: name, waiting, waitedMs }
}

async function differingSchedules({ app, queue }: DoctorDeps) {
  const saved = await listAllSchedulers(queue)
  return schedulesOf(app.config).flatMap(({ list, times }) => {
    const name = syncNameOf(list)
    const found = saved.find((one) => one.name === name)
    if (found === undefined || 'everyMs' in found.times) return []
    const [inQueue, here] = [timesText(found.times), timesText(times)]
    const says = `${name} runs by "${inQueue}", but "${here}" is configured here.`
    return inQueue === here ? [] : [{ name, says }]
  })
}

function timesText({ pattern, zone }: CronTimes): string {
  return `${pattern} ${zone}`
}
