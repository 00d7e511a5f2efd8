/**
 * Measures the delivery of records to webhooks: a worker (notification, fan-out, claims, signed requests over the checked
 * transport, PostgreSQL with durable settings) on both backends of the queue. The receiver is a process of its own.
 *
 * First 200 records a second, each for one of 80 endpoints that answer and one of 20 that hang: the time from the record,
 * which is written just before its commit, to its arrival. Then the same records as a backlog for the endpoints that answer,
 * compared with a job and a transaction a delivery, and with a bare undici loop. CPU time is that of the worker and of all
 * PostgreSQL processes, for a thousand deliveries.
 *
 *   npm run bench:delivery -- [seconds] [deliveries of the backlog]
 */
import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import { type App, migrateApp } from '../src/app/app.ts'
import { targetRulesOf } from '../src/app/settings-for.ts'
import { fanOut } from '../src/delivery/dispatch/fan-out.ts'
import { createEndpoint } from '../src/delivery/endpoints/change-endpoints.ts'
import type { ResellerId } from '../src/platform/base/reseller-id.ts'
import { sql } from '../src/platform/db/database.ts'
import { jobPerDelivery } from './delivery-rivals.ts'
import {
  addReseller,
  bareLoop,
  measured,
  numbers,
  openBenchApp,
  type Postgres,
  printHead,
  printRow,
  quantile,
  settingsFor,
  startFile,
  startPostgres,
  startRedis,
  startRole,
  watchCells,
} from './harness.ts'
import { append, appendSteadily } from './records.ts'

const [SECONDS, BACKLOG] = numbers(30, 8_000)
const EVERY_MS = 50
const RECORDS_PER_SECOND = 200
const BATCH = (RECORDS_PER_SECOND * EVERY_MS) / 1_000
const WARM_UP_SECONDS = 5
const BARE_SECONDS = 5
const RESELLERS = 5
/** Each reseller has one endpoint that answers for each list. Four of them share an endpoint that hangs. */
const LISTS = Array.from({ length: 16 }, (_, i) => `list-${i}`)
const HANGING = 4

const { child, first: url } = await startFile<string>('delivery-receiver.ts')

/** The time from each record to its arrival, since the last call. */
async function arrivals(): Promise<number[]> {
  child.send('report')
  return ((await once(child, 'message')) as [number[]])[0]
}

/** Creates resellers, a watch a list, and the endpoints. No fare is checked. */
async function seed(app: App): Promise<void> {
  await migrateApp(app)
  const { db } = app.database
  const deps = { sealer: app.sealer, targetRules: targetRulesOf(app.config) }
  for (let r = 0; r < RESELLERS; r += 1) {
    const cells = LISTS.flatMap((list, i) => watchCells(list, 1, 1_000_000 + 100 * r + i))
    const { resellerId } = await addReseller(app, `bench-${r}`, cells)
    const owner = { db, resellerId: resellerId as ResellerId }
    for (const list of LISTS) {
      await createEndpoint(owner, deps, { target: `${url}/ok-${r}-${list}`, lists: [list] })
    }
    for (let h = 0; h < HANGING; h += 1) {
      const lists = LISTS.filter((_, i) => i % HANGING === h)
      await createEndpoint(owner, deps, { target: `${url}/hang-${r}-${h}`, lists })
    }
  }
  await sql`delete from fare_schedule`.execute(db)
  await sql`analyze`.execute(db)
}

/** Enables those endpoints that answer, or all, or none. */
async function enable({ database: { db } }: App, which: 'answering' | 'all' | 'none') {
  const conditions = { answering: 'cardinality(lists) = 1', all: 'true', none: 'false' }
  const isEnabled = sql.raw(conditions[which])
  await sql`
    update webhook_endpoint
       set disabled_at = case when ${isEnabled} then null else now() end,
           disabled_reason = case when ${isEnabled} then null else 'paused' end
  `.execute(db)
}

/** Deletes all deliveries, puts all cursors at the ends of their feeds, and appends records for later. */
async function prepare(app: App, backlog: number): Promise<void> {
  const { db } = app.database
  await enable(app, 'none')
  await sql`truncate delivery cascade`.execute(db)
  await sql`
    update webhook_endpoint e
       set cursor_seq = r.last_seq, failures = 0, failing_since = null, open_until = null, held_until = null
      from reseller r where r.id = e.reseller_id
  `.execute(db)
  for (let n = 0; n < backlog; n += 500) await append(app, n, Math.min(500, backlog - n))
}

interface Bench {
  readonly app: App
  readonly postgres: Postgres
  readonly settings: ReturnType<typeof settingsFor>
  readonly queue: string
}

type Cost = Awaited<ReturnType<typeof measured>>

function print(
  [queue, name]: readonly [string, string],
  count: number,
  { seconds, cpu }: Cost,
  more: readonly (number | string)[] = [],
): void {
  printRow([queue, name, count / seconds, ...cpu.map((one) => (1_000 * one) / count), ...more])
}

/** What a worker delivers at a steady rate, and of a backlog. Returns the rate of the backlog. */
async function runWorker({ app, postgres, settings, queue }: Bench) {
  await prepare(app, 0)
  await enable(app, 'all')
  const worker = await startRole('worker', settings)
  const pids = [worker.pid, postgres.pid]
  await appendSteadily(app, BATCH, { everyMs: EVERY_MS, seconds: WARM_UP_SECONDS })
  await delay(2_000)
  await arrivals()
  const steady = await measured(pids, () =>
    appendSteadily(app, BATCH, { everyMs: EVERY_MS, seconds: SECONDS }),
  )
  await delay(2_000)
  const lagsMs = await arrivals()
  const lags = [quantile(lagsMs, 0.5), quantile(lagsMs, 0.99)]
  print([queue, `${RECORDS_PER_SECOND} records a second`], lagsMs.length, steady, ['', ...lags])
  await prepare(app, BACKLOG)
  let arrived = 0
  const cost = await measured(pids, async () => {
    await enable(app, 'answering')
    await append(app, 0, 1)
    for (; arrived < BACKLOG; arrived += (await arrivals()).length) await delay(20)
  })
  await worker.stop()
  return { arrived, cost }
}

async function measureQueue(redisUrl: string | undefined): Promise<void> {
  const postgres = await startPostgres()
  const settings = settingsFor(postgres, {
    ...(redisUrl && { REDIS_URL: redisUrl }),
    ENCRYPTION_KEY: 'the key of a benchmark, 0123456789',
    WEBHOOK_ALLOW_HTTP: 'on',
    WEBHOOK_ALLOWED_NETWORKS: '127.0.0.1/32',
  })
  const app = openBenchApp(settings)
  const queue = redisUrl === undefined ? 'PostgreSQL' : 'Redis'
  await seed(app)
  const { arrived, cost } = await runWorker({ app, postgres, settings, queue })
  await prepare(app, BACKLOG)
  await enable(app, 'answering')
  while (await fanOut(app.database.db));
  const { rows } = await sql<{ id: string }>`select id from delivery`.execute(app.database.db)
  const ids = rows.map(({ id }) => id)
  const pids = [process.pid, postgres.pid]
  const naive = await measured(pids, () => jobPerDelivery(app, ids))
  const ratio = arrived / cost.seconds / (ids.length / naive.seconds)
  print([queue, 'a worker with a backlog'], arrived, cost, [ratio])
  print([queue, 'a job and a transaction a delivery'], ids.length, naive)
  const body = JSON.stringify({ data: { recordedAt: new Date(), text: 'x'.repeat(1_000) } })
  let count = 0
  const bare = await measured(pids, async () => {
    count = await bareLoop(url, BARE_SECONDS, () => ({ path: '/ok', body }))
  })
  print([queue, 'bare undici loop'], count, bare)
  await arrivals()
  await app.close()
  await postgres.close()
}

const redis = await startRedis()
printHead(`${SECONDS} s, a backlog of ${BACKLOG}`, [
  'queue',
  'step',
  'deliveries a second',
  'CPU s/1000: process',
  'PostgreSQL',
  'ratio to a job a delivery',
  'record to webhook, p50 ms',
  'p99',
])
for (const store of redis ? [undefined, redis] : [undefined]) await measureQueue(store?.url)
child.disconnect()
await redis?.close()
