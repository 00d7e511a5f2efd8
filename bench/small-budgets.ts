/**
 * The part of bench/verify.ts for small budgets: a worker process as users start it, at 5, 20 and 1,000 checks a second, and idle.
 *
 * CPU time is that of the worker and of all PostgreSQL processes. WAL is that of the whole server, the queue's included,
 * without full-page images, by `pg_walinspect`. The delay from answer to record is
 * that from the instant at which the upstream's process has answered to `fare_state.last_check_at`.
 *
 * Each step is a multiple of the floor (paced-floor.ts), which is measured in the same run: a bare loop that makes the
 * same calls and keeps nothing, and one prepared transaction a second that records a row for each.
 */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import path from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import type { App } from '../src/app/app.ts'
import { OWNER } from '../src/embedded/postgres-data.ts'
import { type Db, sql } from '../src/platform/db/database.ts'
import { selectOne } from '../src/platform/db/transaction.ts'
import { MAIN, startRole, stop } from './start-role.ts'
import {
  countChecks,
  cpuSecondsOfProcess,
  type Fixture,
  openBenchApp,
  openFixture,
  type Redis,
  seedFares,
} from './verify-fixture.ts'

/** Those that the fares suffice for: each is checked once in a step. */
const BUDGETS = [5, 20, 1_000]
/** The warm-up, shorter where a step is short: such a run shows that it ends, not what it costs. */
const warmUpMs = (seconds: number): number => Math.min(20, 3 * seconds) * 1_000
const IDLE_FARES = 1_000
const HOUR_SECONDS = '3600'

export interface SmallArgs {
  readonly fares: number
  readonly seconds: number
  readonly redis: Redis | undefined
  /**
   * What is measured in the same run: a checkout of another version, which must accept the same database, or `traces`,
   * this version with spans of all its work.
   */
  readonly other: string | undefined
}

/** A version of the worker. */
interface Version {
  readonly name: string
  readonly main: string
  readonly settings?: Readonly<Record<string, string>>
}

export async function measureSmallBudgets(args: SmallArgs): Promise<void> {
  const { other, redis } = args
  const collector = createServer((_, response) => response.end()).listen(0, '127.0.0.1')
  await once(collector, 'listening')
  const { port } = collector.address() as AddressInfo
  const traces = { OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}` }
  const versions: Version[] = [{ name: 'this', main: MAIN }]
  if (other === 'traces') versions.unshift({ name: other, main: MAIN, settings: traces })
  else if (other !== undefined) {
    versions.unshift({ name: 'other', main: path.join(other, 'src/cli/main.ts') })
  }
  for (const queue of [undefined, ...(redis === undefined ? [] : [redis])]) {
    await measureSteps(args, versions, queue)
    await measureIdleOf(args, versions, queue)
  }
  collector.close()
  collector.closeAllConnections()
}

async function measureSteps(
  { fares, seconds }: SmallArgs,
  versions: readonly Version[],
  queue: Redis | undefined,
): Promise<void> {
  await withWatches(fares, async (fixture, app) => {
    console.log(`\n${fares} fares, ${seconds} s a step, queue on ${nameOf(queue)}`)
    console.log(
      'version checks/s   CPU s/1000: worker  Postgres   both  redis   WAL KB   record p50 ms   p95  of floor',
    )
    const checked = seconds + warmUpMs(seconds) / 1_000
    for (const requestsPerSecond of BUDGETS.filter((one) => one * checked <= fares)) {
      const floor = await measureFloor(fixture, { requestsPerSecond, seconds })
      console.log('floor  ', costText(requestsPerSecond, floor))
      for (const version of versions) {
        const step = { requestsPerSecond, seconds, queue, version }
        const measured = await measureStep(fixture, app, step)
        const both = measured.worker + measured.postgres + measured.redis
        const multiple = (both / (floor.worker + floor.postgres)).toFixed(2)
        console.log(version.name.padEnd(7), stepText(measured), multiple.padStart(9))
      }
    }
  })
}

async function measureIdleOf(
  { seconds }: SmallArgs,
  versions: readonly Version[],
  queue: Redis | undefined,
): Promise<void> {
  await withWatches(IDLE_FARES, async (fixture) => {
    for (const version of versions) {
      const { worker, postgres, wal } = await measureIdle(fixture, { seconds, queue, version })
      const figures = [worker, postgres, worker + postgres].map((s) => s.toFixed(3)).join(', ')
      console.log(
        `${version.name} idle, queue on ${nameOf(queue)}: CPU s a minute: worker, Postgres, both: ${figures}; WAL ${wal.toFixed(1)} KB`,
      )
    }
  })
}

const nameOf = (redis: Redis | undefined) => (redis === undefined ? 'PostgreSQL' : 'Redis')

async function withWatches(
  fares: number,
  during: (fixture: Fixture, app: App) => Promise<void>,
): Promise<void> {
  const fixture = await openFixture()
  const app = openBenchApp(fixture, { requestsPerSecond: 1 })
  try {
    await seedFares(app, fares)
    await keepWal(fixture)
    await checkAll(fixture, app)
    await during(fixture, app)
  } finally {
    await app.close()
    await fixture.close()
  }
}

/** The first check of every fare is a change. The next check of each is an hour away. */
async function checkAll(fixture: Fixture, { database: { db } }: App): Promise<void> {
  const role = await startRole(fixture, 'worker', {
    UPSTREAM_REQUESTS_PER_SECOND: '1000',
    MIN_INTERVAL_SECONDS: HOUR_SECONDS,
  })
  for (let unchecked = 1; unchecked > 0; await delay(1_000)) {
    const { n } = await selectOne(
      sql<{ n: number }>`
        select count(*)::int as n from tracked_fare f
         where not exists (select from fare_state s where s.tracked_fare_id = f.id and s.checks > 0)`,
      db,
    )
    unchecked = n
  }
  await stop(role)
}

interface Step {
  readonly perSecond: number
  readonly worker: number
  readonly postgres: number
  readonly redis: number
  readonly walKilobytes: number
  readonly recordMs: readonly number[]
}

interface StepArgs {
  readonly requestsPerSecond: number
  readonly seconds: number
  readonly queue: Redis | undefined
  readonly version: Version
}

async function measureStep(
  fixture: Fixture,
  { database: { db } }: App,
  { requestsPerSecond, seconds, queue, version }: StepArgs,
): Promise<Step> {
  await sql`update fare_schedule set not_before = clock_timestamp()`.execute(db)
  const role = await startRole(
    fixture,
    'worker',
    {
      UPSTREAM_REQUESTS_PER_SECOND: String(requestsPerSecond),
      MIN_INTERVAL_SECONDS: '60',
      ...(queue === undefined ? {} : { REDIS_URL: queue.url }),
      ...version.settings,
    },
    [process.execPath, version.main],
  )
  const pid = role.child.pid ?? 0
  try {
    await delay(warmUpMs(seconds))
    const from = await reading(db, fixture, { pid, queue })
    await delay(seconds * 1_000)
    const to = await reading(db, fixture, { pid, queue })
    const thousands = (to.checks - from.checks) / 1_000
    return {
      perSecond: (to.checks - from.checks) / ((to.ms - from.ms) / 1_000),
      worker: (to.worker - from.worker) / thousands,
      postgres: (to.postgres - from.postgres) / thousands,
      redis: (to.redis - from.redis) / thousands,
      walKilobytes: (await walBytes(db, from, to)) / 1024 / (thousands * 1_000),
      recordMs: await recordDelays(db, fixture, from.ms),
    }
  } finally {
    await stop(role)
  }
}

/** The CPU time of a thousand calls of the floor. */
async function measureFloor(
  fixture: Fixture,
  { requestsPerSecond, seconds }: { requestsPerSecond: number; seconds: number },
): Promise<Pick<Step, 'worker' | 'postgres'>> {
  const args = [fixture.upstreamUrl, fixture.databaseUrl, String(requestsPerSecond)]
  const child = fork(path.join(import.meta.dirname, 'paced-floor.ts'), args)
  await once(child, 'message')
  const pid = child.pid ?? 0
  await delay(warmUpMs(seconds))
  const [worker, postgres] = [cpuSecondsOfProcess(pid), fixture.postgresCpuSeconds()]
  await delay(seconds * 1_000)
  const thousands = (requestsPerSecond * seconds) / 1_000
  const cost = {
    worker: (cpuSecondsOfProcess(pid) - worker) / thousands,
    postgres: (fixture.postgresCpuSeconds() - postgres) / thousands,
  }
  child.disconnect()
  await once(child, 'exit')
  return cost
}

function costText(perSecond: number, { worker, postgres }: Pick<Step, 'worker' | 'postgres'>) {
  return [
    perSecond.toFixed(2).padStart(8),
    worker.toFixed(3).padStart(20),
    postgres.toFixed(3).padStart(9),
    (worker + postgres).toFixed(3).padStart(6),
  ].join(' ')
}

function stepText({ perSecond, worker, postgres, redis, walKilobytes, recordMs }: Step): string {
  const at = (share: number) => recordMs[Math.floor(share * recordMs.length)] ?? Number.NaN
  return [
    costText(perSecond, { worker, postgres }),
    redis.toFixed(3).padStart(6),
    walKilobytes.toFixed(2).padStart(8),
    at(0.5).toFixed(0).padStart(15),
    at(0.95).toFixed(0).padStart(5),
  ].join(' ')
}

async function measureIdle(
  fixture: Fixture,
  { seconds, queue, version }: Omit<StepArgs, 'requestsPerSecond'>,
): Promise<{ worker: number; postgres: number; wal: number }> {
  const app = openBenchApp(fixture, { requestsPerSecond: 1 })
  const role = await startRole(
    fixture,
    'worker',
    {
      UPSTREAM_REQUESTS_PER_SECOND: '20',
      MIN_INTERVAL_SECONDS: HOUR_SECONDS,
      ...(queue === undefined ? {} : { REDIS_URL: queue.url }),
      ...version.settings,
    },
    [process.execPath, version.main],
  )
  const pid = role.child.pid ?? 0
  const { db } = app.database
  try {
    await delay(warmUpMs(seconds))
    const from = await reading(db, fixture, { pid, queue })
    await delay(seconds * 1_000)
    const to = await reading(db, fixture, { pid, queue })
    if (to.checks > from.checks) throw new Error(`${to.checks - from.checks} checks while idle`)
    const minutes = (to.ms - from.ms) / 60_000
    return {
      worker: (to.worker - from.worker) / minutes,
      postgres: (to.postgres - from.postgres) / minutes,
      wal: (await walBytes(db, from, to)) / 1024 / minutes,
    }
  } finally {
    await stop(role)
    await app.close()
  }
}

interface Reading {
  readonly ms: number
  readonly checks: number
  readonly worker: number
  readonly postgres: number
  readonly redis: number
  readonly lsn: string
}

async function reading(
  db: Db,
  fixture: Fixture,
  { pid, queue }: { pid: number; queue: Redis | undefined },
): Promise<Reading> {
  const { lsn } = await selectOne(
    sql<{ lsn: string }>`select pg_current_wal_insert_lsn()::text as lsn`,
    db,
  )
  // An idle server may write nothing else, and statistics of the WAL need a record after their beginning.
  await sql`select pg_logical_emit_message(false, 'bench', '', true)`.execute(db)
  return {
    ms: Date.now(),
    checks: await countChecks(db),
    worker: cpuSecondsOfProcess(pid),
    postgres: fixture.postgresCpuSeconds(),
    redis: queue === undefined ? 0 : cpuSecondsOfProcess(queue.pid),
    lsn,
  }
}

/** The records of the WAL between two readings, without full-page images. Counters of the server would lag behind. */
async function walBytes(db: Db, from: Reading, to: Reading): Promise<number> {
  const { bytes } = await selectOne(
    sql<{ bytes: number }>`
      select coalesce(sum(record_size), 0)::float8 as bytes
      from public.pg_get_wal_stats(${from.lsn}::pg_lsn, ${to.lsn}::pg_lsn)`,
    db,
  )
  return bytes
}

/** Keeps the WAL of the whole run, which `pg_walinspect` reads. The owner of the database may do none of this. */
async function keepWal({ superuserUrl }: Fixture): Promise<void> {
  const client = new pg.Client({ connectionString: superuserUrl })
  await client.connect()
  await client.query('create extension if not exists pg_walinspect schema public')
  await client.query(`grant pg_read_server_files to ${OWNER}`)
  await client.query(`alter system set wal_keep_size = '8GB'`)
  await client.query('select pg_reload_conf()')
  await client.end()
}

/** The delays from answer to record since an instant, in order. */
async function recordDelays(db: Db, fixture: Fixture, sinceMs: number): Promise<number[]> {
  const answered = new Map(await fixture.answers())
  const { rows } = await sql<{ flightId: string; ms: number }>`
    select f.flight_id as "flightId", (extract(epoch from s.last_check_at) * 1000)::float8 as ms
      from fare_state s
      join tracked_fare f on f.id = s.tracked_fare_id
     where s.last_check_at > to_timestamp(${sinceMs}::float8 / 1000)
  `.execute(db)
  const delays = rows.flatMap(({ flightId, ms }) => {
    const at = answered.get(String(flightId))
    // A fare that was asked again is not recorded yet.
    return at === undefined || at > ms ? [] : [ms - at]
  })
  return delays.toSorted((a, b) => a - b)
}
