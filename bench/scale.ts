/**
 * Measures how far workers scale: a million fares of a thousand resellers, budgets that the workers reach and that they do
 * not, one, two and four worker processes, and the queue on PostgreSQL and on Redis. The upstream, the stores and the
 * workers share one machine. docs/performance.md quotes its rates.
 *
 * One fare is checked first. All others are copies of its rows, so that the checks that are measured find nothing new.
 *
 *   npm run bench:scale -- [fares] [resellers] [seconds a step] [workers: 1,2,4] [budgets: 2000,10000]
 */
import os from 'node:os'
import { setTimeout as delay } from 'node:timers/promises'
import type { App } from '../src/app/app.ts'
import { type Db, sql, type Tx } from '../src/platform/db/database.ts'
import { inTransaction, selectOne } from '../src/platform/db/transaction.ts'
import { type Role, startRole, stop } from './start-role.ts'
import {
  cpuSecondsOfProcess,
  type Fixture,
  makeAllDue,
  openBenchApp,
  openFixture,
  type Redis,
  seedFares,
  startRedis,
  whileWorking,
} from './verify-fixture.ts'

const [
  fares = '1000000',
  resellers = '1000',
  seconds = '20',
  workerCounts = '1,2,4',
  budgets = '2000,10000',
] = process.argv.slice(2)
const FARES = Number(fares)
const RESELLERS = Number(resellers)
const SECONDS = Number(seconds)
const listOf = (text: string) => text.split(',').map(Number)
/**
 * What a worker claims doubles every few seconds until some checks are late, then falls below half and grows by tenths
 * until it is what the worker carries.
 */
const WARM_UP_SECONDS = Math.min(60, 3 * SECONDS)
const SAMPLE_MS = 100
/** The share of the machine's time without work below which it is busy. */
const BUSY = 0.1

/** Copies the one row of a table for every fare. `changes` are the new values of `to`, a row of `bench_fare`. */
async function copyRow(tx: Tx, table: string, changes: string): Promise<void> {
  await sql`
    insert into ${sql.table(table)} overriding system value
    select copy.*
      from ${sql.table(table)} first
     cross join bench_fare "to"
     cross join lateral jsonb_populate_record(first, ${sql.raw(changes)}) copy
  `.execute(tx)
}

/** Each fare has one watch, and the resellers have equally many. */
async function fill(app: App): Promise<void> {
  const { db } = app.database
  await seedFares(app, 1)
  await whileWorking(app, async () => {
    // The first answer is confirmed by a second one.
    while (!(await hasStarted(db))) await delay(200)
  })
  await sql`insert into reseller (name) select 'reseller-' || n from generate_series(2, ${RESELLERS}::int) n`.execute(
    db,
  )
  await sql`insert into watch_list (reseller_id, name) select id, 'bench' from reseller on conflict do nothing`.execute(
    db,
  )
  await sql`
    create table bench_fare as
    select f.id + n as fare, n, o.reseller, o.list
      from tracked_fare f
     cross join generate_series(1, ${FARES - 1}::int) n
      join (select reseller_id as reseller, id as list, row_number() over (order by reseller_id) as place from watch_list) o
        on o.place = 1 + n % ${RESELLERS}::int
  `.execute(db)
  const fare = `'tracked_fare_id', "to".fare`
  const watch = `'reference', 'w' || "to".n, 'reseller_id', "to".reseller, 'watch_list_id', "to".list`
  const copies = [
    ['tracked_fare', `'id', "to".fare, 'flight_id', (1000000 + "to".n)::text`],
    ['fare_state', fare],
    ['fare_belief_version', fare],
    ['fare_schedule', fare],
    // Anywhere in its first interval.
    ['turn', `${fare}, 'reseller_id', "to".reseller, 'score', 1, 'vdue', random()`],
    ['watch', `'id', gen_random_uuid(), ${fare}, ${watch}`],
  ] as const
  await inTransaction(db, async (tx) => {
    await sql`set local statement_timeout = '15min'`.execute(tx)
    for (const [table, changes] of copies)
      await copyRow(tx, table, `jsonb_build_object(${changes})`)
  })
  // The queues begin together.
  await sql`delete from reseller_queue`.execute(db)
  await sql`
    insert into reseller_queue (reseller_id, fares, scores)
    select reseller_id, count(*), sum(score) from turn group by reseller_id
  `.execute(db)
  await sql`vacuum analyze`.execute(db)
}

async function hasStarted(db: Db): Promise<boolean> {
  const { rows } = await sql`select from watch where started_at is not null`.execute(db)
  return rows.length > 0
}

async function recorded(db: Db): Promise<number> {
  const query = sql<{
    checks: number
  }>`select coalesce(sum(checks), 0)::bigint as checks from check_minute`
  return (await selectOne(query, db)).checks
}

/** What the sessions of the workers do: `CPU`, or the type of what they wait for. Sums over all samples. */
type Sessions = Map<string, number>

async function sample(db: Db, sessions: Sessions): Promise<void> {
  const { rows } = await sql<{ type: string; n: number }>`
    select coalesce(wait_event_type, 'CPU') as type, count(*) as n
      from pg_stat_activity
     where datname = current_database() and state = 'active' and application_name like 'farewatch worker%'
     group by 1
  `.execute(db)
  for (const { type, n } of rows) sessions.set(type, (sessions.get(type) ?? 0) + n)
}

/** CPU seconds: those of the machine without work, and of each process. */
function cpuSeconds(fixture: Fixture, roles: readonly Role[], redis: Redis | undefined): Cpu {
  return {
    idle: os.cpus().reduce((sum, { times }) => sum + times.idle / 1_000, 0),
    workers: roles.map(({ child }) => cpuSecondsOfProcess(child.pid ?? 0)),
    postgres: fixture.postgresCpuSeconds(),
    redis: redis === undefined ? 0 : cpuSecondsOfProcess(redis.pid),
  }
}

interface Cpu {
  readonly idle: number
  readonly workers: readonly number[]
  readonly postgres: number
  readonly redis: number
}

interface Step {
  readonly workers: number
  readonly budget: number
  readonly redis?: Redis | undefined
}

interface Measured {
  /** In the warm-up, which is the first minute of steps of 20 seconds and more. */
  readonly firstPerSecond: number
  readonly perSecond: number
  /** In cores, over the step. */
  readonly cpu: Cpu
  /** How many sessions on average. */
  readonly sessions: Sessions
}

async function measure(
  fixture: Fixture,
  db: Db,
  { workers, budget, redis }: Step,
): Promise<Measured> {
  await makeAllDue(db)
  await sql`vacuum fare_schedule, turn`.execute(db)
  const settings = {
    UPSTREAM_REQUESTS_PER_SECOND: String(budget),
    ...(redis === undefined ? {} : { REDIS_URL: redis.url }),
  }
  const starts = Array.from({ length: workers }, () => startRole(fixture, 'worker', settings))
  const roles = await Promise.all(starts)
  const idle = await recorded(db)
  while ((await recorded(db)) === idle) await delay(SAMPLE_MS)
  await delay(WARM_UP_SECONDS * 1_000)
  const [checks, from, beganMs] = [
    await recorded(db),
    cpuSeconds(fixture, roles, redis),
    performance.now(),
  ]
  const sessions: Sessions = new Map()
  let samples = 0
  while (performance.now() - beganMs < SECONDS * 1_000) {
    await sample(db, sessions)
    samples += 1
    await delay(SAMPLE_MS)
  }
  const to = cpuSeconds(fixture, roles, redis)
  const tookSeconds = (performance.now() - beganMs) / 1_000
  const perSecond = ((await recorded(db)) - checks) / tookSeconds
  await Promise.all(roles.map(stop))
  return {
    firstPerSecond: (checks - idle) / WARM_UP_SECONDS,
    perSecond,
    cpu: {
      idle: (to.idle - from.idle) / tookSeconds,
      workers: to.workers.map((cpu, i) => (cpu - (from.workers[i] ?? 0)) / tookSeconds),
      postgres: (to.postgres - from.postgres) / tookSeconds,
      redis: (to.redis - from.redis) / tookSeconds,
    },
    sessions: new Map([...sessions].map(([type, n]) => [type, n / samples])),
  }
}

/** What keeps the workers from recording more. */
function limitOf({ perSecond, cpu, sessions }: Measured, budget: number): string {
  if (perSecond >= 0.97 * budget) return 'the budget'
  if (cpu.idle < BUSY * os.cpus().length) return 'the processors'
  if ((sessions.get('Lock') ?? 0) > (sessions.get('CPU') ?? 0)) return 'locks'
  if (Math.max(...cpu.workers) > 0.9) return 'a core of a worker'
  return 'waits'
}

function print({ workers, budget, redis }: Step, measured: Measured): void {
  const { firstPerSecond, perSecond, cpu, sessions } = measured
  const waits = ['CPU', 'Lock', 'LWLock', 'IO'].map((type) => (sessions.get(type) ?? 0).toFixed(2))
  const cells = [
    redis === undefined ? 'PostgreSQL' : 'Redis',
    workers,
    budget,
    firstPerSecond.toFixed(0),
    perSecond.toFixed(0),
    cpu.workers.map((cores) => cores.toFixed(2)).join(' + '),
    cpu.postgres.toFixed(2),
    cpu.redis.toFixed(2),
    cpu.idle.toFixed(2),
    ...waits,
    limitOf(measured, budget),
  ]
  console.log(`| ${cells.join(' | ')} |`)
}

const fixture = await openFixture()
const app = openBenchApp(fixture, { requestsPerSecond: 10 })
const redis = await startRedis()
try {
  const beganMs = performance.now()
  await fill(app)
  const took = ((performance.now() - beganMs) / 1_000).toFixed(0)
  const [load = 0] = os.loadavg()
  console.log(
    `${FARES} fares of ${RESELLERS} resellers, filled in ${took} s; ${SECONDS} s a step; ${os.cpus().length} cores, load average ${load.toFixed(1)}\n`,
  )
  console.log(
    '| queue | workers | budget | in the first minute | recorded a second | cores: workers | PostgreSQL | Redis | idle | sessions: CPU | Lock | LWLock | IO | limit |',
  )
  console.log('|---|---:|---:|---:|---:|---|---:|---:|---:|---:|---:|---:|---:|---|')
  for (const store of redis === undefined ? [undefined] : [undefined, redis]) {
    for (const workers of listOf(workerCounts)) {
      for (const budget of listOf(budgets)) {
        const step = { workers, budget, redis: store }
        print(step, await measure(fixture, app.database.db, step))
      }
    }
  }
} finally {
  await app.close()
  await redis?.stop()
  await fixture.close()
}
