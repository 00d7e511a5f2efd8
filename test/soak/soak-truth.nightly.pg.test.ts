import { setTimeout as delay } from 'node:timers/promises'
import { describe, expect, onTestFinished } from 'vitest'
import { type Db, sql } from '../../src/platform/db/database.ts'
import { selectOne } from '../../src/platform/db/transaction.ts'
import { changeReseller } from '../../src/resellers/resellers.ts'
import { type RunningCommand, startInTest } from '../support/child-process.ts'
import { startFaultyProxy } from '../support/faulty-proxy.ts'
import { cells, resellerWith } from '../watches/watch-fixtures.ts'
import {
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

/** Kills one of the workers at a third and at two thirds of the time, and starts another. Returns when. */
async function killTwice(
  start: () => RunningCommand,
  workers: RunningCommand[],
): Promise<number[]> {
  const killedMs: number[] = []
  for (const [i] of [0, 1].entries()) {
    await delay((SECONDS / 3) * 1000)
    workers[i]?.child.kill('SIGKILL')
    killedMs.push(Date.now())
    workers[i] = start()
  }
  return killedMs
}

/** Runs two workers against a driven upstream behind a faulty proxy. Returns the plan and the records. */
async function run(db: Db, databaseUrl: string, redisUrl: string | null) {
  let losses: readonly Loss[] = []
  let routes: readonly ListedRoute[] = []
  const upstream = await startDrivenUpstream(
    () => losses,
    () => routes,
  )
  const proxy = await startFaultyProxy(upstream.url, FAULT_SHARE, seeded(11))
  onTestFinished(async () => {
    await proxy.close()
    await upstream.close()
  })
  const rows = FARES.map(([flightId = '', returnFlightId = ''], i) =>
    cells({ reference: `w${i}`, flight_id: flightId, return_flight_id: returnFlightId }),
  )
  await resellerWith(db, rows, 'ana')
  await changeReseller(db, 'ana', { routes: { countries: ['Spain'] } })
  const start = () => startWorker(databaseUrl, proxy.url, redisUrl)
  const workers = [start(), start()]
  const startMs = Date.now()
  const endMs = startMs + SECONDS * 1000
  losses = planLosses({ fares: FARES, startMs, endMs, random: seeded(7) })
  routes = planRoutes({ startMs, endMs })
  const killedMs = await killTwice(start, workers)
  await delay(endMs - Date.now())
  await drain(db)
  for (const worker of workers) worker.child.kill('SIGTERM')
  expect(await Promise.all(workers.map(({ ended }) => ended))).toEqual([0, 0])
  const corrupted = Object.values(proxy.corrupted).reduce((sum, n) => sum + n, 0)
  const records = await readRecords(db)
  return { losses, routes, endMs, killedMs, records, asked: proxy.requestsMs, corrupted }
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

async function expectTrue(db: Db, databaseUrl: string, redisUrl: string | null): Promise<void> {
  const { losses, routes, endMs, killedMs, records, asked, corrupted } = await run(
    db,
    databaseUrl,
    redisUrl,
  )
  const routeRecords = await readRouteRecords(db)
  const found = recordedLosses({ fares: FARES, endMs }, losses, records)
  // What a killed process had claimed is asked again at the end of its lease.
  const isHidden = ({ fromMs }: { fromMs: number }) =>
    killedMs.some((atMs) => fromMs > atMs - CONFIRMATION_MS && fromMs < atMs + LEASE_MS)
  const long = found.filter((loss) => loss.lastsMs >= 60_000 && !isHidden(loss))
  const took = long.flatMap(({ tookMs }) => tookMs ?? []).sort((a, b) => a - b)
  const expectedInterval = await readExpectedInterval(db)
  const wrong = falseRecords(losses, records)
  process.stdout.write(
    `driven truth, ${redisUrl === null ? 'PostgreSQL' : 'Redis'}, ${SECONDS} s: ${asked.length} answers, ` +
      `${corrupted} corrupted, ${losses.length} losses, ${records.length} records, ${wrong.length} false; ` +
      `2 workers killed, ${long.length} losses of 60 s or more, ${long.length - took.length} missed; ` +
      `recorded after ${percentile(took, 0.95).toFixed(1)} s at p95, expected interval ${expectedInterval.toFixed(1)} s\n`,
  )

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
  expect(percentile(took, share)).toBeLessThan(4 * expectedInterval + CONFIRMATION_SECONDS)
}

describe('an upstream with known losses and routes behind a proxy that corrupts a tenth of the answers, and workers that are killed', () => {
  onBothQueues(
    'no record is false, no loss of 60 s or more is missed, losses are recorded in time, and each route comes and goes once',
    SECONDS,
    expectTrue,
  )
})
