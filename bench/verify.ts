/**
 * Fares verified and durably recorded a second: the whole worker (ticks, turns, queue, client, decision, Postgres
 * with durable settings) on both backends of the queue, beside a bare undici loop on the same upstream and beside a
 * job a fare with statements a row. All in one run; the upstream answers from a process of its own.
 *
 * The worker keeps a budget, so that its rate is what it is told: the budget is raised step by step until the worker
 * spends less than 0.9 of it. CPU is that of this process and of all of Postgres' processes, a thousand checks.
 * Then, whether the budget is spent: few fares that may be asked every second, and an upstream that leaves one
 * request in a hundred without an answer.
 *
 *   npm run bench:verify -- [fares] [seconds a step]
 */
import { setTimeout as delay } from 'node:timers/promises'
import type { App } from '../src/app/app.ts'
import { sql } from '../src/db/database.ts'
import {
  countChecks,
  type Ground,
  openBenchApp,
  openGround,
  seedFares,
  startRedis,
  whileWorking,
} from './verify-ground.ts'
import { bareLoop, jobPerFare } from './verify-rivals.ts'

const FARES = Number(process.argv[2] ?? 40_000)
const SECONDS = Number(process.argv[3] ?? 10)
const BUDGETS = [1_000, 2_000, 4_000, 6_000, 7_000, 8_000, 9_000, 10_000]
/** Slots are given five seconds ahead: what a step before it has promised must be over. */
const RUN_IN_SECONDS = 8
const SPENT_SECONDS = 60

interface Cost {
  readonly seconds: number
  readonly worker: number
  readonly postgres: number
}

async function measured(ground: Ground, during: () => Promise<unknown>): Promise<Cost> {
  const [start, cpu, postgres] = [
    performance.now(),
    process.cpuUsage(),
    ground.postgresCpuSeconds(),
  ]
  await during()
  const { user, system } = process.cpuUsage(cpu)
  return {
    seconds: (performance.now() - start) / 1_000,
    worker: (user + system) / 1e6,
    postgres: ground.postgresCpuSeconds() - postgres,
  }
}

interface Result {
  readonly name: string
  readonly perSecond: number
  readonly workerPer1000: number
  readonly postgresPer1000: number
}

function resultOf(name: string, checks: number, cost: Cost): Result {
  return {
    name,
    perSecond: checks / cost.seconds,
    workerPer1000: (cost.worker / checks) * 1_000,
    postgresPer1000: (cost.postgres / checks) * 1_000,
  }
}

async function measureBare(ground: Ground): Promise<Result> {
  let asked = 0
  const cost = await measured(ground, async () => {
    asked = await bareLoop(ground.upstreamUrl, FARES, SECONDS)
  })
  return resultOf('bare undici loop', asked, cost)
}

async function measureNaive(ground: Ground, redisUrl: string | undefined): Promise<Result> {
  const app = openBenchApp(ground, { requestsPerSecond: 1_000, redisUrl })
  let cost: Cost = { seconds: 0, worker: 0, postgres: 0 }
  const checks = await jobPerFare(app, SECONDS, async (during) => {
    cost = await measured(ground, during)
  })
  await app.close()
  return resultOf('a job a fare', checks, cost)
}

/** What is recorded while the budget is `requestsPerSecond`, after the running in. */
async function measureWorker(
  app: App,
  ground: Ground,
  { requestsPerSecond, seconds }: { requestsPerSecond: number; seconds: number },
): Promise<Result> {
  const { db } = app.database
  return whileWorking(app, async () => {
    await delay(RUN_IN_SECONDS * 1_000)
    const before = await countChecks(db)
    const cost = await measured(ground, () => delay(seconds * 1_000))
    return resultOf(`budget ${requestsPerSecond}`, (await countChecks(db)) - before, cost)
  })
}

async function climb(ground: Ground, redisUrl: string | undefined): Promise<Result[]> {
  const results: Result[] = []
  for (const requestsPerSecond of BUDGETS) {
    const app = openBenchApp(ground, { requestsPerSecond, redisUrl })
    await rest(app)
    const args = { requestsPerSecond, seconds: SECONDS }
    const result = await measureWorker(app, ground, args)
    await app.close()
    results.push(result)
    if (result.perSecond < 0.9 * requestsPerSecond) break
  }
  return results
}

/** All claims given back, and all fares due: no step begins with what the one before it left behind. */
async function rest({ database: { db } }: App): Promise<void> {
  await sql`
    update fare_schedule
       set claim_id = null, slot_at = null, lane = null, lane_due_at = null, not_before = clock_timestamp()
  `.execute(db)
  await sql`update upstream_budget set next_slot_at = '-infinity', next_lane_at = '-infinity'`.execute(
    db,
  )
}

function print(title: string, results: readonly Result[], bare: Result, naive: Result): void {
  console.log(`\n${title}`)
  console.log(
    '                    a second   of bare   to a job a fare   CPU s/1000: worker  Postgres',
  )
  for (const { name, perSecond, workerPer1000, postgresPer1000 } of results) {
    const cells = [
      name.padEnd(18),
      perSecond.toFixed(0).padStart(10),
      (perSecond / bare.perSecond).toFixed(2).padStart(9),
      (perSecond / naive.perSecond).toFixed(1).padStart(17),
      workerPer1000.toFixed(3).padStart(20),
      postgresPer1000.toFixed(3).padStart(9),
    ]
    console.log(cells.join(' '))
  }
}

async function compare(ground: Ground, title: string, redisUrl?: string): Promise<void> {
  const first = await measureBare(ground)
  const naive = await measureNaive(ground, redisUrl)
  const steps = await climb(ground, redisUrl)
  const second = await measureBare(ground)
  const bare = first.perSecond < second.perSecond ? second : first
  print(title, [bare, naive, ...steps], bare, naive)
}

/** The first look at every fare is a change: what is measured later finds nothing new. */
async function lookOnce(ground: Ground): Promise<void> {
  const app = openBenchApp(ground, { requestsPerSecond: 500 })
  await seedFares(app, FARES)
  const { db } = app.database
  await whileWorking(app, async () => {
    for (let unseen = 1; unseen > 0; await delay(500)) {
      const { rows } = await sql<{ n: number }>`
        select count(*) as n from tracked_fare f
         where not exists (select from fare_state s where s.tracked_fare_id = f.id and s.checks > 0)
      `.execute(db)
      unseen = rows[0]?.n ?? 0
    }
  })
  await app.close()
}

async function insertsByTable(app: App): Promise<Map<string, number>> {
  // Postgres' own processes tell their counts about every second.
  await delay(2_000)
  const { rows } = await sql<{ name: string; n: number }>`
    select relname as name, n_tup_ins as n from pg_stat_user_tables where schemaname = 'farewatch_private'
  `.execute(app.database.db)
  return new Map(rows.map(({ name, n }) => [name, n]))
}

/** Which rows the unchanged checks of `during` added. */
async function countRows(app: App, during: () => Promise<void>): Promise<void> {
  const [checks, rows] = [await countChecks(app.database.db), await insertsByTable(app)]
  await during()
  const after = await insertsByTable(app)
  const grown = [...after].map(([name, n]) => ({ name, n: n - (rows.get(name) ?? 0) }))
  // The job a fare counts up the same checks, and adds a row for each: neither is the worker's.
  const naive = grown.find(({ name }) => name === 'naive_check')?.n ?? 0
  const added = grown.filter(({ name, n }) => n > 0 && name !== 'naive_check')
  const told = added.map(({ name, n }) => `${name} ${n}`).join(', ') || 'none'
  console.log(
    `\nrows added by ${(await countChecks(app.database.db)) - checks - naive} unchanged checks: ${told}`,
  )
}

async function spend(ground: Ground, budget: number, fares: number): Promise<void> {
  const app = openBenchApp(ground, { requestsPerSecond: budget })
  await rest(app)
  await sql`
    update fare_schedule set not_before = 'infinity'
     where tracked_fare_id not in (select tracked_fare_id from fare_schedule order by tracked_fare_id limit ${fares})
  `.execute(app.database.db)
  const args = { requestsPerSecond: budget, seconds: SPENT_SECONDS }
  const { perSecond } = await measureWorker(app, ground, args)
  await app.close()
  console.log(
    `budget ${budget}, ${fares} fares: ${perSecond.toFixed(1)} recorded a second, ${(perSecond / budget).toFixed(3)} of it`,
  )
}

const ground = await openGround()
const redis = await startRedis()
try {
  await lookOnce(ground)
  const app = openBenchApp(ground, { requestsPerSecond: 1 })
  await countRows(app, async () => {
    await compare(ground, 'queue on PostgreSQL')
    if (redis === undefined) console.log('\nno redis-server: that half is left out')
    else await compare(ground, 'queue on Redis', redis.url)
  })
  await app.close()
  console.log(`\nof the budget, over ${SPENT_SECONDS} s, one answer in a hundred missing:`)
  ground.hang(0.01)
  await spend(ground, 60, 200)
} finally {
  await redis?.stop()
  await ground.close()
}
