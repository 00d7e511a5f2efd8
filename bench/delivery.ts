/**
 * Measures the delivery of records to webhooks: the whole worker (notification, fan-out, claims, signed requests over the
 * checked transport, PostgreSQL with durable settings) on both backends of the queue. The receiver is a process of its own.
 *
 * First 200 records a second, each for one of 80 endpoints that answer and one of 20 that hang: the time from the record,
 * which is written just before its commit, to its arrival. Then the same records as a backlog for the endpoints that answer,
 * compared with a job and a transaction a delivery, and with a bare undici loop. CPU time is that of this process, which
 * also writes the records of the first part, and of all PostgreSQL processes, for a thousand deliveries.
 *
 *   npm run bench:delivery -- [seconds] [deliveries of the backlog]
 */
import os from 'node:os'
import { setTimeout as delay } from 'node:timers/promises'
import { createApiServer } from '../src/app/api-server.ts'
import { type App, openQueue } from '../src/app/app.ts'
import { createDelivery } from '../src/app/delivery.ts'
import { startWork } from '../src/app/work.ts'
import { fanOut } from '../src/delivery/dispatch/fan-out.ts'
import { sql } from '../src/platform/db/database.ts'
import { listen } from '../src/platform/http/server.ts'
import { createApiKey } from '../src/resellers/api-keys.ts'
import { requireReseller } from '../src/resellers/resellers.ts'
import {
  append,
  clear,
  enable,
  followStream,
  openDeliveryApp,
  type Receiver,
  seed,
  startReceiver,
} from './delivery-fixture.ts'
import { bareLoop, jobPerDelivery } from './delivery-rivals.ts'
import { type Fixture, openFixture, startRedis } from './verify-fixture.ts'

const SECONDS = Number(process.argv[2] ?? 30)
const BACKLOG = Number(process.argv[3] ?? 8_000)
const RECORDS_PER_SECOND = 200
const EVERY_MS = 50
const WARM_UP_SECONDS = 5
const BARE_SECONDS = 5

async function whileDelivering<T>(app: App, during: () => Promise<T>): Promise<T> {
  const queue = openQueue(app)
  await queue.start()
  const delivery = createDelivery(app)
  const work = await startWork(app, queue, { more: delivery.loops })
  try {
    return await during()
  } finally {
    await work.stop()
    await delivery.close(2_000)
    await queue.close({ graceMs: 5_000 })
  }
}

interface Cost {
  readonly seconds: number
  readonly process: number
  readonly postgres: number
}

const NOTHING: Cost = { seconds: 0, process: 0, postgres: 0 }

async function measured(fixture: Fixture, during: () => Promise<unknown>): Promise<Cost> {
  const [startMs, cpu, postgres] = [
    performance.now(),
    process.cpuUsage(),
    fixture.postgresCpuSeconds(),
  ]
  await during()
  const { user, system } = process.cpuUsage(cpu)
  return {
    seconds: (performance.now() - startMs) / 1_000,
    process: (user + system) / 1e6,
    postgres: fixture.postgresCpuSeconds() - postgres,
  }
}

function print(name: string, deliveries: number, { seconds, ...cost }: Cost): number {
  const per1000 = (cpu: number) => ((1_000 * cpu) / deliveries).toFixed(2)
  const perSecond = deliveries / seconds
  console.log(
    `${name.padEnd(34)} ${perSecond.toFixed(0).padStart(6)} a second; CPU s/1000: process ${per1000(cost.process)}, PostgreSQL ${per1000(cost.postgres)}`,
  )
  return perSecond
}

/** Appends records at the rate, ahead of no deadline: a late one is followed by the next at once. */
async function appendSteadily(app: App, seconds: number): Promise<void> {
  const batch = (RECORDS_PER_SECOND * EVERY_MS) / 1_000
  const startMs = performance.now()
  for (let i = 0; i * EVERY_MS < seconds * 1_000; i += 1) {
    await append(app, i * batch, batch)
    await delay(Math.max(0, startMs + (i + 1) * EVERY_MS - performance.now()))
  }
}

async function measureLag(app: App, fixture: Fixture, receiver: Receiver): Promise<void> {
  await clear(app)
  await enable(app, 'all')
  const queue = openQueue(app)
  const api = createApiServer(app, queue)
  const url = await listen(api, { host: '127.0.0.1', port: 0, setting: 'API_PORT' })
  const ending = new AbortController()
  let streamed: number[] = []
  const { id: resellerId } = await requireReseller(app.database.db, 'bench-0')
  const { text: key } = await createApiKey(app.database.db, { resellerId })
  const following = followStream({ url, key }, (lagMs) => streamed.push(lagMs), ending.signal)
  await whileDelivering(app, async () => {
    await appendSteadily(app, WARM_UP_SECONDS)
    await delay(2_000)
    await receiver.report()
    streamed = []
    const cost = await measured(fixture, () => appendSteadily(app, SECONDS))
    await delay(2_000)
    const { received, lagsMs } = await receiver.report()
    print(`${RECORDS_PER_SECOND} records a second`, received, cost)
    printLags('webhooks of healthy endpoints', lagsMs)
    printLags('events of one stream', streamed)
  })
  ending.abort()
  await following.catch(() => undefined)
  await api.close()
  await queue.close({ graceMs: 1_000 })
}

function printLags(name: string, lagsMs: readonly number[]): void {
  const sorted = lagsMs.toSorted((a, b) => a - b)
  const at = (share: number) => sorted[Math.floor(share * sorted.length)] ?? Number.NaN
  console.log(
    `  record to ${name}: p50 ${at(0.5)} ms, p99 ${at(0.99)} ms, longest ${sorted.at(-1)} ms (${sorted.length} records)`,
  )
}

async function prepareBacklog(app: App): Promise<void> {
  await enable(app, 'none')
  await clear(app)
  for (let n = 0; n < BACKLOG; n += 500) await append(app, n, Math.min(500, BACKLOG - n))
}

/** Counts in this process, as the other one does: a query would take time from the database. */
async function deliveredCount({ metrics }: App): Promise<number> {
  const { values } = await metrics.webhookDeliveries.get()
  return values.find(({ labels }) => labels.outcome === 'delivered')?.value ?? 0
}

async function measureThroughput(app: App, fixture: Fixture, receiver: Receiver): Promise<void> {
  await prepareBacklog(app)
  let ours: Cost = NOTHING
  await whileDelivering(app, async () => {
    ours = await measured(fixture, async () => {
      const before = await deliveredCount(app)
      await enable(app, 'those that answer')
      await append(app, 0, 1)
      while ((await deliveredCount(app)) < before + BACKLOG) await delay(20)
    })
  })
  await prepareBacklog(app)
  await enable(app, 'those that answer')
  while (await fanOut(app.database.db));
  const { rows } = await sql<{ id: string }>`select id from delivery`.execute(app.database.db)
  let naive: Cost = NOTHING
  const ids = rows.map(({ id }) => id)
  await jobPerDelivery(app, ids, async (during) => {
    naive = await measured(fixture, during)
  })
  const ratio =
    print('the dispatcher, with fan-out', BACKLOG, ours) /
    print('a job and a transaction a delivery', rows.length, naive)
  console.log(`  ratio ${ratio.toFixed(1)}`)
  await receiver.report()
}

console.log(
  `load average of this machine before: ${os
    .loadavg()
    .map((n) => n.toFixed(1))
    .join(', ')}; ${os.availableParallelism()} cores`,
)
const redis = await startRedis()
const receiver = await startReceiver()
let bare = 0
for (const [title, url] of [
  ['queue on PostgreSQL', undefined],
  ['queue on Redis', redis?.url],
] as const) {
  if (title === 'queue on Redis' && url === undefined) continue
  const fixture = await openFixture()
  const app = openDeliveryApp(fixture.databaseUrl, url)
  await seed(app, receiver)
  console.log(`\n${title}`)
  await measureLag(app, fixture, receiver)
  await measureThroughput(app, fixture, receiver)
  const cost = await measured(fixture, async () => {
    bare = await bareLoop(receiver.url, BARE_SECONDS)
  })
  print('bare undici loop', bare, cost)
  await app.close()
  await fixture.close()
}
receiver.close()
await redis?.stop()
console.log(
  `load average after: ${os
    .loadavg()
    .map((n) => n.toFixed(1))
    .join(', ')}`,
)
