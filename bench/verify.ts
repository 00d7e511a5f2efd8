/**
 * Measures how many fares a second are verified and durably recorded. The whole worker (ticks, claims, queue, client,
 * decision, PostgreSQL with durable settings) runs on both backends of the queue, compared with a bare undici loop on
 * the same upstream and with one job a fare and one statement a row. The upstream runs in a process of its own.
 *
 * The worker never exceeds its budget, so the budget is raised step by step until the worker uses less than 0.9 of
 * it. CPU time is that of this process and of all PostgreSQL processes, for a thousand checks. A last step measures
 * how much of a budget is used: few fares with a minimum interval of one second, and an upstream that does not answer
 * one request in a hundred.
 *
 * The part `small` measures small budgets instead (small-budgets.ts), also those of another checkout, or with `traces`.
 *
 *   npm run bench:verify -- [fares] [seconds a step] [large, small or both] [another checkout, or traces]
 */

import { setTimeout as delay } from 'node:timers/promises'
import type { App } from '../src/app/app.ts'
import { sql } from '../src/platform/db/database.ts'
import { inTransaction } from '../src/platform/db/transaction.ts'
import { changeQueues, unfollow } from '../src/schedule/queues.ts'
import { measureSmallBudgets } from './small-budgets.ts'
import {
  countChecks,
  type Fixture,
  makeAllDue,
  openBenchApp,
  openFixture,
  type Redis,
  seedFares,
  startRedis,
  whileWorking,
} from './verify-fixture.ts'
import { bareLoop, jobPerFare } from './verify-rivals.ts'

const FARES = Number(process.argv[2] ?? 40_000)
const SECONDS = Number(process.argv[3] ?? 10)
const PART = process.argv[4]
const OTHER = process.argv[5]
const BUDGETS = [1_000, 2_000, 4_000, 6_000, 7_000, 8_000, 9_000, 10_000]
/** What a worker claims doubles every few seconds until it carries no more. */
const WARM_UP_SECONDS = 20
const USAGE_SECONDS = 6 * SECONDS

interface Cost {
  readonly seconds: number
  readonly worker: number
  readonly postgres: number
}

async function measured(fixture: Fixture, during: () => Promise<unknown>): Promise<Cost> {
  const [start, cpu, postgres] = [
    performance.now(),
    process.cpuUsage(),
    fixture.postgresCpuSeconds(),
  ]
  await during()
  const { user, system } = process.cpuUsage(cpu)
  return {
    seconds: (performance.now() - start) / 1_000,
    worker: (user + system) / 1e6,
    postgres: fixture.postgresCpuSeconds() - postgres,
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

async function measureBare(fixture: Fixture): Promise<Result> {
  let requests = 0
  const cost = await measured(fixture, async () => {
    requests = await bareLoop(fixture.upstreamUrl, FARES, SECONDS)
  })
  return resultOf('bare undici loop', requests, cost)
}

async function measureNaive(fixture: Fixture, redisUrl: string | undefined): Promise<Result> {
  const app = openBenchApp(fixture, { requestsPerSecond: 1_000, redisUrl })
  let cost: Cost = { seconds: 0, worker: 0, postgres: 0 }
  const checks = await jobPerFare(app, SECONDS, async (during) => {
    cost = await measured(fixture, during)
  })
  await app.close()
  return resultOf('a job a fare', checks, cost)
}

/** The checks recorded at a budget of `requestsPerSecond`, after a warm-up. */
async function measureWorker(
  app: App,
  fixture: Fixture,
  { requestsPerSecond, seconds }: { requestsPerSecond: number; seconds: number },
): Promise<Result> {
  const { db } = app.database
  return whileWorking(app, async () => {
    await delay(Math.min(WARM_UP_SECONDS, 3 * seconds) * 1_000)
    const before = await countChecks(db)
    const cost = await measured(fixture, () => delay(seconds * 1_000))
    return resultOf(`budget ${requestsPerSecond}`, (await countChecks(db)) - before, cost)
  })
}

async function climb(fixture: Fixture, redisUrl: string | undefined): Promise<Result[]> {
  const results: Result[] = []
  for (const requestsPerSecond of BUDGETS) {
    const app = openBenchApp(fixture, { requestsPerSecond, redisUrl })
    await makeAllDue(app.database.db)
    const args = { requestsPerSecond, seconds: SECONDS }
    const result = await measureWorker(app, fixture, args)
    await app.close()
    results.push(result)
    if (result.perSecond < 0.9 * requestsPerSecond) break
  }
  return results
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

async function compare(fixture: Fixture, title: string, redisUrl?: string): Promise<void> {
  const first = await measureBare(fixture)
  const naive = await measureNaive(fixture, redisUrl)
  const steps = await climb(fixture, redisUrl)
  const second = await measureBare(fixture)
  const bare = first.perSecond < second.perSecond ? second : first
  print(title, [bare, naive, ...steps], bare, naive)
}

/** The first check of every fare is a change. The checks that are measured later find nothing new. */
async function checkOnce(fixture: Fixture): Promise<void> {
  const app = openBenchApp(fixture, { requestsPerSecond: 500 })
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
  // PostgreSQL's processes report their counts about every second.
  await delay(2_000)
  const { rows } = await sql<{ name: string; n: number }>`
    select relname as name, n_tup_ins as n from pg_stat_user_tables where schemaname = 'farewatch_private'
  `.execute(app.database.db)
  return new Map(rows.map(({ name, n }) => [name, n]))
}

/** Prints the rows that the unchanged checks of `during` added. */
async function countRows(app: App, during: () => Promise<void>): Promise<void> {
  const [checks, rows] = [await countChecks(app.database.db), await insertsByTable(app)]
  await during()
  const after = await insertsByTable(app)
  const grown = [...after].map(([name, n]) => ({ name, n: n - (rows.get(name) ?? 0) }))
  // One job a fare increases the same counters and adds a row a check. Neither belongs to the worker.
  const naive = grown.find(({ name }) => name === 'naive_check')?.n ?? 0
  const added = grown.filter(({ name, n }) => n > 0 && name !== 'naive_check')
  const summary = added.map(({ name, n }) => `${name} ${n}`).join(', ') || 'none'
  console.log(
    `\nrows added by ${(await countChecks(app.database.db)) - checks - naive} unchanged checks: ${summary}`,
  )
}

async function measureUse(fixture: Fixture, budget: number, fares: number): Promise<void> {
  const app = openBenchApp(fixture, { requestsPerSecond: budget })
  await makeAllDue(app.database.db)
  const { rows } = await sql<{ id: number }>`
    select tracked_fare_id as id from fare_schedule order by tracked_fare_id offset ${fares}
  `.execute(app.database.db)
  const others = rows.map(({ id }) => id)
  await inTransaction(app.database.db, async (tx) => changeQueues(tx, await unfollow(tx, others)))
  const args = { requestsPerSecond: budget, seconds: USAGE_SECONDS }
  const { perSecond } = await measureWorker(app, fixture, args)
  await app.close()
  console.log(
    `budget ${budget}, ${fares} fares: ${perSecond.toFixed(1)} recorded a second, ${(perSecond / budget).toFixed(3)} of it`,
  )
}

async function measureLarge(redis: Redis | undefined): Promise<void> {
  const fixture = await openFixture()
  try {
    await checkOnce(fixture)
    const app = openBenchApp(fixture, { requestsPerSecond: 1 })
    await countRows(app, async () => {
      await compare(fixture, 'queue on PostgreSQL')
      if (redis !== undefined) await compare(fixture, 'queue on Redis', redis.url)
    })
    await app.close()
    console.log(`\nof the budget, over ${USAGE_SECONDS} s, one answer in a hundred missing:`)
    fixture.hang(0.01)
    await measureUse(fixture, 60, 200)
  } finally {
    await fixture.close()
  }
}

const redis = await startRedis()
try {
  if (redis === undefined) console.log('no redis-server: the queue on Redis is not measured')
  if (PART !== 'large')
    await measureSmallBudgets({ fares: FARES, seconds: SECONDS, redis, other: OTHER })
  if (PART !== 'small') await measureLarge(redis)
} finally {
  await redis?.stop()
}
