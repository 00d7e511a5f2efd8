import { setTimeout as delay } from 'node:timers/promises'
import { describe, expect, inject, onTestFinished } from 'vitest'
import { type Db, sql } from '../../src/platform/db/database.ts'
import { selectOne } from '../../src/platform/db/transaction.ts'
import { changeReseller } from '../../src/resellers/resellers.ts'
import { untilReady } from '../fares/worker-fixtures.ts'
import { type RunningCommand, startInTest } from '../support/child-process.ts'
import { startFaultyProxy } from '../support/faulty-proxy.ts'
import { adminQuery } from '../support/postgres-server.ts'
import { createTcpProxy, type TcpProxy } from '../support/tcp-proxy.ts'
import { until } from '../support/until.ts'
import { cells, resellerWith } from '../watches/watch-fixtures.ts'
import {
  type Answered,
  type DrivenRecord,
  falseRecords,
  type Legs,
  type ListedRoute,
  type Loss,
  planLosses,
  planRoutes,
  recordedLosses,
  startDrivenUpstream,
} from './driven-truth.ts'
import { drain, onBothQueues, seeded } from './run-soak.ts'

const SECONDS = Number(process.env.SOAK_SECONDS ?? 300)
const REQUESTS_PER_SECOND = 40
const QUESTIONS = 200
const FAULT_SHARE = 0.1
/** A first loss is confirmed after about this time. */
const CONFIRMATION_SECONDS = 20
const CONFIRMATION_MS = 1000 * CONFIRMATION_SECONDS
const ENOUGH_FOR_P95 = 20
/** The lease of a claim, and the seconds that a claim is ahead. */
const LEASE_MS = 65_000
/** Until the lists of a killed process come again, and two of them confirm a removal. */
const ROUTE_MS = 100_000
/** A loss that lasts as long must be recorded. */
const LONG_MS = 60_000
/** For so long a change is new to a mass. */
const NEW_MS = 300_000
const FLAP_SECONDS = 10
const TOKEN = 'soak-access-token'

/** Every fifth fare has a return flight. */
const FARES: readonly Legs[] = Array.from({ length: QUESTIONS }, (_, i) =>
  i % 5 === 0 ? [`1${1_000 + i}`, `2${1_000 + i}`] : [`1${1_000 + i}`],
)

function startWorker(databaseUrl: string, upstreamUrl: string, redisUrl: string | null) {
  return startInTest(['worker'], {
    DATABASE_URL: databaseUrl,
    ...(redisUrl === null ? {} : { REDIS_URL: redisUrl }),
    UPSTREAM_BASE_URL: upstreamUrl,
    UPSTREAM_ACCESS_TOKEN: TOKEN,
    UPSTREAM_REQUESTS_PER_SECOND: String(REQUESTS_PER_SECOND),
    MIN_INTERVAL_SECONDS: '1',
    ROUTE_SYNC_SCHEDULE: '*/5 * * * * *',
    AVAILABILITY_SYNC_SCHEDULE: '0 0 1 1 *',
    ADMIN_PORT: '0',
  })
}

interface Span {
  readonly fromMs: number
  readonly toMs: number
}

/** The workers and their store. */
interface FaultContext {
  readonly startMs: number
  readonly start: () => RunningCommand
  readonly workers: RunningCommand[]
  readonly databaseUrl: string
  readonly store: TcpProxy
}

interface Fault {
  readonly happens: string
  /** How many times longer a record may take. */
  readonly slower: number
  /** Ends before the soak. Returns the times in which nothing could be seen or recorded. */
  readonly run: (faultContext: FaultContext) => Promise<Span[]>
}

/** Kills each of the workers, soon after each other, and starts others. */
async function killTwice({ start, workers }: FaultContext): Promise<Span[]> {
  await delay((SECONDS / 3) * 1000)
  const fromMs = Date.now() - CONFIRMATION_MS
  for (const i of [0, 1]) {
    await delay(FLAP_SECONDS * 1000)
    workers[i]?.child.kill('SIGKILL')
    workers[i] = start()
  }
  // What they had claimed is asked again at the end of its lease.
  return [{ fromMs, toMs: Date.now() + LEASE_MS }]
}

/** Hides nothing: half of the time is enough. */
async function comeAndGo({ store, startMs }: FaultContext): Promise<Span[]> {
  while (Date.now() < startMs + (SECONDS - 2 * FLAP_SECONDS) * 1000) {
    await delay(FLAP_SECONDS * 1000)
    await store.shut()
    await delay(FLAP_SECONDS * 1000)
    await store.open()
  }
  return []
}

/** Refuses writes in the second third of the time, at most for ten minutes. */
async function refuseWrites({ databaseUrl, store }: FaultContext): Promise<Span[]> {
  const { pathname } = new URL(databaseUrl)
  const set = async (change: string) => {
    await adminQuery(inject('postgresUrl'), `alter database "${pathname.slice(1)}" ${change}`)
    store.cut()
  }
  await delay((SECONDS / 3) * 1000)
  const fromMs = Date.now() - CONFIRMATION_MS
  await set('set default_transaction_read_only = on')
  await delay(Math.min(600, SECONDS / 3) * 1000)
  await set('reset default_transaction_read_only')
  return [{ fromMs, toMs: Date.now() + CONFIRMATION_MS }]
}

const FAULTS: readonly Fault[] = [
  { happens: 'workers that are killed', slower: 1, run: killTwice },
  { happens: 'a store that comes and goes each ten seconds', slower: 2, run: comeAndGo },
  { happens: 'a store that refuses writes for a third of the time', slower: 1, run: refuseWrites },
]

/** Runs two workers against a driven upstream behind a faulty proxy. Returns the plan and the records. */
async function run(db: Db, databaseUrl: string, redisUrl: string | null, fault: Fault) {
  let losses: readonly Loss[] = []
  let routes: readonly ListedRoute[] = []
  const upstream = await startDrivenUpstream(
    () => losses,
    () => routes,
  )
  const proxy = await startFaultyProxy(upstream.url, FAULT_SHARE, seeded(11))
  const { hostname, port } = new URL(databaseUrl)
  const store = await createTcpProxy({ host: hostname, port: Number(port) })
  onTestFinished(async () => {
    await store.close()
    await proxy.close()
    await upstream.close()
  })
  const rows = FARES.map(([flightId = '', returnFlightId = ''], i) =>
    cells({ reference: `w${i}`, flight_id: flightId, return_flight_id: returnFlightId }),
  )
  await resellerWith(db, rows, 'ana')
  await changeReseller(db, 'ana', { routes: { countries: ['Spain'] } })
  const storeUrl = Object.assign(new URL(databaseUrl), { port: String(store.port) }).href
  const start = () => startWorker(storeUrl, proxy.url, redisUrl)
  const workers = [start(), start()]
  for (const worker of workers) await untilReady(worker)
  const baseline = db.selectFrom('sync_run').where('baseline', '=', true).select('id')
  await until('the first list', async () => (await baseline.execute()).length > 0)
  const startMs = Date.now()
  const endMs = startMs + SECONDS * 1000
  losses = planLosses({ fares: FARES, startMs, endMs, random: seeded(7) })
  routes = planRoutes({ startMs, endMs })
  const hidden = await fault.run({ startMs, start, workers, databaseUrl, store })
  await delay(endMs - Date.now())
  await drain(db)
  for (const worker of workers) worker.child.kill('SIGTERM')
  expect(await Promise.all(workers.map(({ ended }) => ended))).toEqual([0, 0])
  const corrupted = Object.values(proxy.corrupted).reduce((sum, n) => sum + n, 0)
  const records = await readRecords(db)
  const { answers } = upstream
  return { losses, routes, endMs, hidden, records, answers, asked: proxy.requestsMs, corrupted }
}

/** What the reseller received of each route, in the order of its feed. */
async function readRouteRecords(db: Db): Promise<Record<string, string[]>> {
  const { rows } = await sql<{ pair: string; kinds: string[] }>`
    select c.departure_id || '-' || c.destination_id as pair, array_agg(c.kind order by w.seq) as kinds
      from watch_change w
      join route_change c on c.seq = w.route_seq
     group by 1
  `.execute(db)
  return Object.fromEntries(rows.map(({ pair, kinds }) => [pair, kinds]))
}

/** The routes that did not come and go once each, as far as there was time. */
function wrongRoutes(
  routes: readonly ListedRoute[],
  endMs: number,
  received: Record<string, string[]>,
) {
  const unplanned = Object.keys(received).filter((pair) => routes.every((one) => one.pair !== pair))
  const wrong = routes.filter(({ pair, fromMs, toMs }) => {
    const due = [fromMs, toMs].filter((ms) => ms < endMs - ROUTE_MS).length
    const kinds = received[pair] ?? []
    return kinds.length < due || kinds.some((kind, i) => kind !== ROUTE_KINDS[i])
  })
  return [...unplanned, ...wrong.map(({ pair }) => `${pair}: ${received[pair]}`)]
}

const ROUTE_KINDS = ['route_added', 'route_removed']

async function readRecords(db: Db): Promise<DrivenRecord[]> {
  const { rows } = await sql<DrivenRecord>`
    select array_remove(array[f.flight_id, f.return_flight_id], null) as legs, c.kind, c.after ->> 'pair' as pair,
           (extract(epoch from c.detected_at) * 1000)::float8 as "detectedMs",
           (extract(epoch from c.recorded_at) * 1000)::float8 as "recordedMs"
      from availability_change c
      join tracked_fare f on f.id = c.tracked_fare_id
     order by c.seq
  `.execute(db)
  return rows
}

async function readExpectedInterval(db: Db): Promise<number> {
  const { seconds } = await selectOne(
    sql<{ seconds: number }>`
      select (select count(*) from fare_schedule) / requests_per_second as seconds from schedule_facts
    `,
    db,
  )
  return seconds
}

function percentile(sortedMs: readonly number[], share: number): number {
  return (sortedMs[Math.ceil(sortedMs.length * share) - 1] ?? Number.NaN) / 1000
}

/** How much of a time none of the others covers. */
function shownMs({ fromMs, toMs }: Span, hidden: readonly Span[]): number {
  const covered = hidden.map((one) => Math.min(toMs, one.toMs) - Math.max(fromMs, one.fromMs))
  return toMs - fromMs - covered.reduce((sum, ms) => sum + Math.max(0, ms), 0)
}

/** Whether two answers showed a loss, as far apart as a confirmation: of three, two may be corrupted. */
function isAnsweredTwice(
  { flightId, fromMs, lastsMs }: ReturnType<typeof recordedLosses>[number],
  answers: readonly Answered[],
  hidden: readonly Span[],
): boolean {
  const times = answers
    .filter(({ ids, atMs }) => ids.includes(flightId) && atMs >= fromMs && atMs < fromMs + lastsMs)
    .map(({ atMs }) => atMs)
    .filter((ms) => !hidden.some((one) => one.fromMs <= ms && ms < one.toMs))
  return Math.max(...times) - Math.min(...times) >= CONFIRMATION_MS
}

async function expectTrue(
  db: Db,
  databaseUrl: string,
  redisUrl: string | null,
  fault: Fault,
): Promise<void> {
  const { losses, routes, endMs, hidden, records, answers, asked, corrupted } = await run(
    db,
    databaseUrl,
    redisUrl,
    fault,
  )
  const routeRecords = await readRouteRecords(db)
  const found = recordedLosses({ fares: FARES, endMs }, losses, records)
  const shown = (fromMs: number, ms: number) => shownMs({ fromMs, toMs: fromMs + ms }, hidden)
  const long = found.filter(
    (loss) => shown(loss.fromMs, loss.lastsMs) >= LONG_MS && isAnsweredTwice(loss, answers, hidden),
  )
  const took = long
    .flatMap(({ fromMs, tookMs }) => (tookMs === undefined ? [] : [shown(fromMs, tookMs)]))
    .sort((a, b) => a - b)
  const expectedInterval = await readExpectedInterval(db)
  const wrong = falseRecords(losses, records)
  process.stdout.write(
    `driven truth, ${redisUrl === null ? 'PostgreSQL' : 'Redis'}, ${SECONDS} s, ${fault.happens}: ${asked.length} answers, ` +
      `${corrupted} corrupted, ${losses.length} losses, ${records.length} records, ${wrong.length} false; ` +
      `${long.length} losses that could be seen for 60 s, ${long.length - took.length} missed; ` +
      `recorded after ${percentile(took, 0.95).toFixed(1)} s at p95, expected interval ${expectedInterval.toFixed(1)} s\n`,
  )

  // What changes in a longer time without a record is new at once, and may be a mass.
  if (hidden.every(({ fromMs, toMs }) => toMs - fromMs < NEW_MS))
    expect((await sql`select kind from incident`.execute(db)).rows).toEqual([])
  expect(corrupted).toBeGreaterThan(asked.length * FAULT_SHARE * 0.7)
  expect(wrong).toEqual([])
  expect(wrongRoutes(routes, endMs, routeRecords)).toEqual([])
  expect(Object.values(routeRecords).flat()).toContain('route_removed')
  expect(long.length).toBeGreaterThan(SECONDS / 100)
  expect(long.filter(({ tookMs }) => tookMs === undefined)).toEqual([])
  // One loss of a few may meet two corrupted answers in a row, so the 95th percentile of a few losses says nothing.
  const share = took.length < ENOUGH_FOR_P95 ? 0.5 : 0.95
  // A fare that never changed before comes less often than the mean.
  expect(percentile(took, share)).toBeLessThan(
    fault.slower * (4 * expectedInterval + CONFIRMATION_SECONDS),
  )
}

describe.for(FAULTS)(
  'an upstream with known losses and routes behind a proxy that corrupts a tenth of the answers, and $happens',
  (fault) => {
    onBothQueues(
      // Fault: A tenth of the answers is broken for ten minutes, on both queue backends, while flights sell out and return,
      // and workers are killed, or the store comes and goes each ten seconds, or refuses writes.
      'no record is false, no loss that could be seen for 60 s is missed, losses are recorded in time, and each route comes and goes once',
      SECONDS,
      (db, databaseUrl, redisUrl) => expectTrue(db, databaseUrl, redisUrl, fault),
    )
  },
)
