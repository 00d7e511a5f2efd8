/**
 * Measures what the API costs with keys and rate limits, compared in the same run with the least that is possible: a
 * bare Fastify that checks the same keys and answers "hello", the same bytes from memory, and the bare queries. The
 * steps alternate, and the figures are medians of the rounds. Then a worker uses its whole budget, alone and next to
 * an API under load.
 *
 *   npm run bench:api -- [routes] [seconds a step] [rounds]
 */
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { sql } from '../src/platform/db/database.ts'
import { selectOne } from '../src/platform/db/transaction.ts'
import type { Route } from '../src/upstream/route-list.ts'
import { startListServer } from '../test/support/list-server.ts'
import { load } from './api-load.ts'
import type { BareQuery } from './api-rivals.ts'
import { type Checks, openChecks, runWorkers } from './checks.ts'
import {
  median,
  numbers,
  openBenchApp,
  printHead,
  printRow,
  startFile,
  startRole,
  syncOnce,
} from './harness.ts'

const [ROUTES, SECONDS, ROUNDS] = numbers(37_000, 5, 3)
const CHANGES = Math.min(5_000, Math.floor(ROUTES / 4))
const [SMALL, LARGE] = [20, 4]
const BUDGET = 200
/** Enough to use the whole budget when each fare is checked at most once a second. */
const FARES = 2_000
const ROWS = 100
const PLACES = 400
const INTERVALS = 500

function routeOf(i: number): Route {
  const place = (n: number) => ({
    id: String(1_000 + n),
    iata: `X${n.toString(36).padStart(2, '0').toUpperCase()}`,
    city: `City of number ${n}`,
    country: `Country ${n % 40}`,
  })
  const from = i % PLACES
  const to = (from + 1 + Math.floor(i / PLACES)) % PLACES
  return { departure: place(from), destination: place(to) }
}

/** A second list adds routes, with one record of the feed each. */
async function seedRoutes({ settings }: Checks): Promise<void> {
  const server = await startListServer()
  const app = openBenchApp({ ...settings, UPSTREAM_BASE_URL: server.url })
  const all = Array.from({ length: ROUTES }, (_, i) => routeOf(i))
  for (const routes of [all.slice(0, ROUTES - CHANGES), all]) {
    server.serve({ routes, available: all.filter((_, i) => i % 6 > 0) })
    await syncOnce(app, 'routes')
  }
  await syncOnce(app, 'with-availability')
  await app.close()
  await server.close()
}

/**
 * Gives a watch intervals of one hour, each with another price. It is dated back by less than 30 days: a watch that was never
 * available for that long expires.
 */
async function seedTimeline({ app }: Checks): Promise<string> {
  const { db } = app.database
  const { watchId, fareId } = await selectOne(
    sql<{ watchId: string; fareId: number }>`
      update watch set began_at = clock_timestamp() - make_interval(hours => ${INTERVALS}::int)
       where reference = 'w0'
      returning id as "watchId", tracked_fare_id as "fareId"
    `,
    db,
  )
  await sql`delete from fare_belief_version where tracked_fare_id = ${fareId}`.execute(db)
  await sql`
    insert into fare_belief_version (tracked_fare_id, outbound, pair, price, currency, valid_from, valid_to)
    select ${fareId}::bigint, 'available', 'bookable', 80 + n, 'EUR',
           clock_timestamp() - make_interval(hours => ${INTERVALS}::int - n),
           case when n < ${INTERVALS}::int - 1 then clock_timestamp() - make_interval(hours => ${INTERVALS}::int - n - 1) end
      from generate_series(0, ${INTERVALS}::int - 1) n
  `.execute(db)
  await sql`vacuum (analyze)`.execute(db)
  return watchId
}

interface Step {
  readonly name: string
  readonly comparedWith?: string
  readonly goal?: number
  /** How often a second it could be done. */
  readonly run: () => Promise<number>
}

interface Servers {
  readonly api: string
  readonly rivals: string
  readonly child: ChildProcess
  readonly key: string
}

async function stepsOf({ api, rivals, child, key }: Servers): Promise<Step[]> {
  const bearer = { authorization: `Bearer ${key}` }
  const routes = `${api}/api/v1/data/routes`
  const first = await fetch(routes, { headers: bearer })
  await first.arrayBuffer()
  const known = { ...bearer, 'if-none-match': first.headers.get('etag') ?? '' }
  const usual = { headers: bearer, connections: SMALL, seconds: SECONDS, status: 200 }
  const on = (url: string, given = {}) => {
    return () => load({ url, ...usual, ...given })
  }
  const large = { connections: LARGE }
  const gzip = { ...large, headers: { ...bearer, 'accept-encoding': 'gzip' } }
  const bare = (query: BareQuery['query']) => async () => {
    child.send({ query, rows: ROWS, calls: SMALL, seconds: SECONDS } satisfies BareQuery)
    return ((await once(child, 'message')) as [number])[0]
  }
  const page = `${api}/api/v1/route-changes?limit=${ROWS}`
  const timeline = `${api}/api/v1/watch-lists/bench/watches/w0/timeline?limit=${ROWS}`
  const unchanged = on(routes, { headers: known, status: 304 })
  return [
    { name: 'hello', run: on(`${rivals}/hello`) },
    { name: 'routes, 304', comparedWith: 'hello', goal: 0.4, run: unchanged },
    { name: 'bytes from memory', run: on(`${rivals}/bytes`, large) },
    { name: 'routes, 200', comparedWith: 'bytes from memory', goal: 0.5, run: on(routes, large) },
    { name: 'routes, 200, gzip', comparedWith: 'bytes from memory', run: on(routes, gzip) },
    { name: 'query of a page', run: bare('page') },
    { name: 'page of changes', comparedWith: 'query of a page', goal: 0.5, run: on(page) },
    { name: 'query of a timeline', run: bare('timeline') },
    { name: 'timeline', comparedWith: 'query of a timeline', goal: 0.5, run: on(timeline) },
  ]
}

async function measure(steps: readonly Step[]): Promise<void> {
  const rates = new Map(steps.map(({ name }) => [name, [] as number[]]))
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const { name, run } of steps) rates.get(name)?.push(await run())
  }
  const rateOf = (name: string) => median(rates.get(name) ?? [])
  printHead(`${ROUTES} routes, ${ROUNDS} rounds of ${SECONDS} s`, [
    'step',
    'a second',
    'ratio',
    'to',
    'goal',
  ])
  for (const { name, comparedWith = '', goal = '' } of steps) {
    const ratio = comparedWith === '' ? '' : rateOf(name) / rateOf(comparedWith)
    printRow([name, rateOf(name), ratio, comparedWith, String(goal)])
  }
}

/** What a worker records, alone and next to an API under load. */
async function measureWorker(checks: Checks, steps: readonly Step[]): Promise<void> {
  const step = { budget: BUDGET, workers: 1, redis: undefined, seconds: SECONDS }
  const { rate: alone } = await runWorkers(checks, step)
  printHead(`a worker with a budget of ${BUDGET}`, ['next to', 'records a second', 'of alone'])
  printRow(['nothing', alone, 1])
  for (const { name, run } of steps.filter((one) => /304|200$|^page/.test(one.name))) {
    const { rate } = await runWorkers(checks, step, run)
    printRow([name, rate, rate / alone])
  }
}

const checks = await openChecks(FARES)
try {
  await seedRoutes(checks)
  const watchId = await seedTimeline(checks)
  const { resellerId, key } = checks.reseller
  const api = await startRole('api', { ...checks.settings, API_REQUESTS_PER_SECOND: '1000000' })
  const list = `${api.url}/api/v1/data/routes`
  const args = [checks.postgres.url, list, key, String(resellerId), watchId]
  const { child, first: rivals } = await startFile<string>('api-rivals.ts', args)
  const steps = await stepsOf({ api: api.url, rivals, child, key })
  await measure(steps)
  await measureWorker(checks, steps)
  child.disconnect()
  await api.stop()
} finally {
  await checks.close()
}
