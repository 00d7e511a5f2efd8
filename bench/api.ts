/**
 * Measures what the API costs with keys and rate limits, compared in the same run with the least that is possible: a
 * bare Fastify that checks the same keys and answers "hello", the same bytes from memory, and the bare queries. The
 * steps alternate, and the figures are medians of the rounds. Then a worker uses its whole budget, alone and next to
 * an API under load.
 *
 *   npm run bench:api -- [routes] [seconds a step] [rounds]
 */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import os from 'node:os'
import path from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { type Seeded, seedApi } from './api-fixture.ts'
import { load } from './api-load.ts'
import type { BareQuery } from './api-rivals.ts'
import { type Role, startRole, stop } from './start-role.ts'
import { countChecks, type Fixture, openBenchApp, openFixture } from './verify-fixture.ts'

const ROUTES = Number(process.argv[2] ?? 37_000)
const SECONDS = Number(process.argv[3] ?? 5)
const ROUNDS = Number(process.argv[4] ?? 3)
const CHANGES = Math.min(5_000, Math.floor(ROUTES / 4))
const ROWS = 100
const SMALL = 20
const LARGE = 4
const BUDGET = 200
/** Enough to use the whole budget when each fare is checked at most once a second. */
const FARES = 2_000
const SETTINGS = {
  UPSTREAM_REQUESTS_PER_SECOND: String(BUDGET),
  API_REQUESTS_PER_SECOND: '1000000',
}
const WARM_UP_MS = 1_600 * SECONDS
const WORKER_SECONDS = 4 * SECONDS

async function startRivals(fixture: Fixture, listUrl: string, key: string): Promise<Role> {
  const child = fork(path.join(import.meta.dirname, 'api-rivals.ts'), [
    fixture.databaseUrl,
    listUrl,
    key,
  ])
  const [port] = (await once(child, 'message')) as [number]
  return { child, url: `http://127.0.0.1:${port}` }
}

/** One measurement: how often a second `run` could be done. */
interface Step {
  readonly name: string
  readonly comparedWith?: string
  readonly goal?: number
  readonly run: () => Promise<number>
}

async function stepsOf(api: Role, rivals: Role, seeded: Seeded): Promise<Step[]> {
  const bearer = { authorization: `Bearer ${seeded.key}` }
  const routes = `${api.url}/api/v1/data/routes`
  const first = await fetch(routes, { headers: bearer })
  await first.arrayBuffer()
  const known = { ...bearer, 'if-none-match': first.headers.get('etag') ?? '' }
  const on = (url: string, given = {}) => {
    const args = { url, headers: bearer, connections: SMALL, seconds: SECONDS, status: 200 }
    return async () => (await load({ ...args, ...given })).perSecond
  }
  const large = { connections: LARGE }
  const gzip = { ...large, headers: { ...bearer, 'accept-encoding': 'gzip' } }
  const bare = (query: BareQuery['query']) => async () => {
    const { resellerId, watchId } = seeded
    const wanted = { query, rows: ROWS, calls: SMALL, seconds: SECONDS, resellerId, watchId }
    rivals.child.send(wanted satisfies BareQuery)
    return ((await once(rivals.child, 'message')) as [number])[0]
  }
  const page = `${api.url}/api/v1/route-changes?limit=${ROWS}`
  const timeline = `${api.url}/api/v1/watch-lists/bench/watches/w0/timeline?limit=${ROWS}`
  return [
    { name: 'hello', run: on(`${rivals.url}/hello`) },
    {
      name: 'routes, 304',
      comparedWith: 'hello',
      goal: 0.4,
      run: on(routes, { headers: known, status: 304 }),
    },
    { name: 'bytes from memory', run: on(`${rivals.url}/bytes`, large) },
    { name: 'routes, 200', comparedWith: 'bytes from memory', goal: 0.5, run: on(routes, large) },
    { name: 'routes, 200, gzip', comparedWith: 'bytes from memory', run: on(routes, gzip) },
    { name: 'query of a page', run: bare('page') },
    { name: 'page of changes', comparedWith: 'query of a page', goal: 0.5, run: on(page) },
    { name: 'query of a timeline', run: bare('timeline') },
    { name: 'timeline', comparedWith: 'query of a timeline', goal: 0.5, run: on(timeline) },
  ]
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN
}

async function measure(steps: readonly Step[]): Promise<Map<string, number>> {
  const seen = new Map(steps.map(({ name }) => [name, [] as number[]]))
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const { name, run } of steps) seen.get(name)?.push(await run())
  }
  return new Map([...seen].map(([name, values]) => [name, median(values)]))
}

function print(steps: readonly Step[], rates: ReadonlyMap<string, number>): void {
  console.log('\n                         a second   ratio  goal')
  for (const { name, comparedWith, goal } of steps) {
    const rate = rates.get(name) ?? Number.NaN
    const floor = comparedWith === undefined ? undefined : (rates.get(comparedWith) ?? Number.NaN)
    const ratio = floor === undefined ? '' : (rate / floor).toFixed(2)
    const label = comparedWith === undefined ? '' : `  of "${comparedWith}"`
    const numbers = `${rate.toFixed(0).padStart(12)} ${ratio.padStart(7)} ${String(goal ?? '').padStart(5)}`
    console.log(`${name.padEnd(20)} ${numbers}${label}`)
  }
}

/** The checks that a worker records a second. */
async function recordedPerSecond(fixture: Fixture): Promise<number> {
  const app = openBenchApp(fixture, { requestsPerSecond: BUDGET })
  const before = await countChecks(app.database.db)
  await delay(WORKER_SECONDS * 1_000)
  const recorded = (await countChecks(app.database.db)) - before
  await app.close()
  return recorded / WORKER_SECONDS
}

async function measureWithWorker(fixture: Fixture, steps: readonly Step[]): Promise<void> {
  const worker = await startRole(fixture, 'worker', SETTINGS)
  await delay(WARM_UP_MS)
  const alone = await recordedPerSecond(fixture)
  console.log(`\na worker with a budget of ${BUDGET} a second records ${alone.toFixed(1)} alone,`)
  for (const name of ['routes, 304', 'routes, 200', 'page of changes']) {
    const step = steps.find((one) => one.name === name)
    const end = performance.now() + WORKER_SECONDS * 1_000
    const loading = (async () => {
      const rates: number[] = []
      while (performance.now() < end - SECONDS * 1_000) rates.push((await step?.run()) ?? 0)
      return median(rates)
    })()
    const loaded = await recordedPerSecond(fixture)
    const recorded = `${loaded.toFixed(1)} (${(loaded / alone).toFixed(2)})`
    console.log(`${recorded} with "${name}" at ${(await loading).toFixed(0)} a second`)
  }
  await stop(worker)
}

function loads(): string {
  return os
    .loadavg()
    .map((one) => one.toFixed(1))
    .join(' ')
}

const fixture = await openFixture()
try {
  const app = openBenchApp(fixture, { requestsPerSecond: BUDGET })
  const seeded = await seedApi(app, { routes: ROUTES, changes: CHANGES, fares: FARES })
  await app.close()
  console.log(`${ROUTES} routes, ${ROUNDS} rounds of ${SECONDS} s, load average ${loads()}`)
  const api = await startRole(fixture, 'api', SETTINGS)
  const rivals = await startRivals(fixture, `${api.url}/api/v1/data/routes`, seeded.key)
  const steps = await stepsOf(api, rivals, seeded)
  print(steps, await measure(steps))
  await measureWithWorker(fixture, steps)
  console.log(`load average ${loads()}`)
  rivals.child.disconnect()
  await stop(api)
} finally {
  await fixture.close()
}
