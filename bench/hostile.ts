/**
 * Measures what a reseller notices while another caller floods the API: the latency of its paced requests, calm and
 * during each flood. Calm and floods alternate within one run, and the figures are medians of the rounds. The limits are
 * the API's own defaults.
 *
 *   npm run bench:hostile -- [seconds a step] [rounds] [floods, all by default]
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { migrateApp } from '../src/app/app.ts'
import { createApiKey, newKey } from '../src/resellers/api-keys.ts'
import { createReseller } from '../src/resellers/resellers.ts'
import { type Role, startRole, stop } from './start-role.ts'
import { type Fixture, openBenchApp, openFixture } from './verify-fixture.ts'

const SECONDS = Number(process.argv[2] ?? 10)
const ROUNDS = Number(process.argv[3] ?? 3)
const CHOSEN = process.argv.slice(4)
/** Below the rate limit of a key. */
const REQUESTS_PER_SECOND = 40
const ROWS = 100
const FLOOD_ROWS = 5_000
const GOAL = 3
const CSV_ROWS = 100_000
const CONNECTIONS = 40
/** A flood first uses up its burst of requests, which is not what lasts. */
const FLOOD_WARM_UP_MS = Math.min(2_000, SECONDS * 200)
const AUTOCANNON = path.join(import.meta.dirname, '../node_modules/.bin/autocannon')

interface Flood {
  readonly name: string
  /** The arguments of each autocannon. */
  readonly cannons: readonly (readonly string[])[]
}

interface Latencies {
  readonly p50: number
  readonly p99: number
  /** How many requests were refused. */
  readonly refused: number
}

function watches(rows: number, threshold: string): string {
  const all = Array.from({ length: rows }, (_, i) => ({
    reference: `R${i}`,
    flightId: `${101_000_000_000 + i}`,
    passengers: { nonResidents: { adults: 2 } },
    priceThresholdAmount: threshold,
  }))
  return JSON.stringify({ watches: all })
}

/** The longest CSV. */
function csv(): string {
  const lines = Array.from({ length: CSV_ROWS }, (_, i) => `R${i},${101_000_000_000 + i},0,2`)
  return ['reference,flight_id,residents_adults,non_residents_adults', ...lines].join('\n')
}

function headersOf(key: string): Record<string, string> {
  return { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
}

async function post(url: string, key: string, body: string): Promise<void> {
  const answer = await fetch(url, { method: 'POST', headers: headersOf(key), body })
  const text = await answer.text()
  if (!answer.ok) throw new Error(`${url}: ${answer.status} ${text}`)
}

/** The requests of a reseller at work, one after another: reads, and one small write in ten. */
function usualRequests(api: string): readonly { url: string; body?: string }[] {
  const list = `${api}/watch-lists/l/watches`
  const reads = [
    { url: `${list}?limit=${ROWS}` },
    { url: `${api}/watch-changes?after=0` },
    { url: `${list}/R1` },
  ]
  return [...reads, ...reads, ...reads, { url: list, body: watches(1, '10') }]
}

/** Sends requests at their instants, whether or not earlier ones are answered. */
async function measure(api: string, key: string): Promise<Latencies> {
  const usual = usualRequests(api)
  const everyMs = 1_000 / REQUESTS_PER_SECOND
  const startMs = performance.now()
  const answers = Array.from({ length: SECONDS * REQUESTS_PER_SECOND }, async (_, i) => {
    const dueMs = startMs + i * everyMs
    await delay(Math.max(0, dueMs - performance.now()))
    const { url, body } = usual[i % usual.length] ?? { url: api }
    const method = body === undefined ? 'GET' : 'POST'
    const sentMs = performance.now()
    const answer = await fetch(url, { method, headers: headersOf(key), body: body ?? null })
    await answer.arrayBuffer()
    return { ms: performance.now() - sentMs, refused: !answer.ok }
  })
  const all = await Promise.all(answers)
  const sorted = all.map(({ ms }) => ms).sort((a, b) => a - b)
  const at = (share: number) => sorted[Math.floor(sorted.length * share)] ?? Number.NaN
  return { p50: at(0.5), p99: at(0.99), refused: all.filter(({ refused }) => refused).length }
}

async function floodsOf(api: string, key: string, folder: string): Promise<Flood[]> {
  const bearer = (text: string) => ['-H', `authorization: Bearer ${text}`]
  const posting = async (name: string, body: string, type = 'application/json') => {
    const file = path.join(folder, name)
    await writeFile(file, body)
    const sent = ['-i', file, '-H', `content-type: ${type}`, ...bearer(key)]
    return ['-m', 'POST', ...sent, `${api}/watch-lists/l/watches`]
  }
  const importing = (threshold: string) => posting(threshold, watches(FLOOD_ROWS, threshold))
  const mix = 'residents[adults]=0&nonResidents[adults]=1'
  return [
    // Two bodies in turn: each import changes every watch.
    { name: 'imports', cannons: [await importing('1'), await importing('2')] },
    { name: 'csv', cannons: [await posting('csv', csv(), 'text/csv')] },
    { name: 'brackets', cannons: [await posting('brackets', '['.repeat(1_000_000))] },
    { name: 'empty objects', cannons: [await posting('objects', `[${'{},'.repeat(333_000)}{}]`)] },
    {
      name: 'verifies',
      cannons: [[...bearer(key), `${api}/flights/fares/verify?flightId=101000000000&${mix}`]],
    },
    { name: 'polls', cannons: [[...bearer(key), `${api}/watch-changes?wait=1`]] },
    { name: 'lists', cannons: [[...bearer(key), `${api}/watch-lists/l/watches?limit=1000`]] },
    {
      name: 'made-up keys',
      cannons: [[...bearer(newKey((max) => max - 1)), `${api}/watch-changes`]],
    },
    {
      name: 'documentation',
      cannons: [['-H', 'accept-encoding: br', `${new URL(api).origin}/openapi.json`]],
    },
  ]
}

/** Runs the flood while `during` does. */
async function whileFlooded<T>({ cannons }: Flood, during: () => Promise<T>): Promise<T> {
  const connections = ['-c', String(CONNECTIONS / cannons.length)]
  const running: ChildProcess[] = cannons.map((args) =>
    spawn(process.execPath, [AUTOCANNON, ...connections, '-d', '3600', ...args], {
      stdio: 'ignore',
    }),
  )
  // Real floods come from other machines: here the senders must not take the processor from what is measured.
  for (const { pid } of running)
    if (pid !== undefined) os.setPriority(pid, os.constants.priority.PRIORITY_LOW)
  await delay(FLOOD_WARM_UP_MS)
  try {
    return await during()
  } finally {
    for (const cannon of running) {
      cannon.kill('SIGKILL')
      if (cannon.exitCode === null) await once(cannon, 'exit')
    }
  }
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN
}

function print(name: string, calm: readonly Latencies[], flooded: readonly Latencies[]): void {
  const of = (all: readonly Latencies[], which: keyof Latencies) =>
    median(all.map((latencies) => latencies[which]))
  const figures = [of(calm, 'p50'), of(flooded, 'p50'), of(calm, 'p99'), of(flooded, 'p99')]
  const ratio = of(flooded, 'p99') / of(calm, 'p99')
  const columns = figures.map((ms) => ms.toFixed(1).padStart(9)).join('')
  const judged = ratio <= GOAL ? 'met' : 'missed'
  const refused = flooded.reduce((total, latencies) => total + latencies.refused, 0)
  const counted = refused === 0 ? '' : `, ${refused} refused`
  console.log(`${name.padEnd(15)}${columns}${ratio.toFixed(2).padStart(8)}  ${judged}${counted}`)
}

function loads(): string {
  return os
    .loadavg()
    .map((one) => one.toFixed(1))
    .join(' ')
}

/** Migrates, starts the API, and gives both resellers a list. */
async function prepare(fixture: Fixture): Promise<Prepared> {
  const app = openBenchApp(fixture, { requestsPerSecond: 5 })
  await migrateApp(app)
  const keyOf = async (name: string) => {
    const { id: resellerId } = await createReseller(app.database.db, name)
    return (await createApiKey(app.database.db, { resellerId })).text
  }
  const [quiet, hostile] = [await keyOf('quiet'), await keyOf('hostile')]
  await app.close()
  const role = await startRole(fixture, 'api', {})
  const api = `${role.url}/api/v1`
  for (const [key, rows] of [
    [quiet, ROWS],
    [hostile, FLOOD_ROWS],
  ] as const) {
    await post(`${api}/watch-lists`, key, JSON.stringify({ name: 'l' }))
    await post(`${api}/watch-lists/l/watches`, key, watches(rows, '10'))
  }
  return { role, api, quiet, hostile }
}

interface Prepared {
  readonly role: Role
  readonly api: string
  /** The keys of both resellers. */
  readonly quiet: string
  readonly hostile: string
}

async function run({ api, quiet, hostile }: Prepared, folder: string): Promise<void> {
  await measure(api, quiet)
  console.log(`${ROUNDS} rounds of ${SECONDS} s, load average ${loads()}\n`)
  console.log('ms              p50 calm  flooded p99 calm  flooded   ratio  goal 3')
  const floods = await floodsOf(api, hostile, folder)
  for (const flood of floods.filter(({ name }) => CHOSEN.length === 0 || CHOSEN.includes(name))) {
    const calm: Latencies[] = []
    const flooded: Latencies[] = []
    for (let round = 0; round < ROUNDS; round += 1) {
      calm.push(await measure(api, quiet))
      flooded.push(await whileFlooded(flood, () => measure(api, quiet)))
    }
    print(flood.name, calm, flooded)
  }
  console.log(`\nload average ${loads()}`)
}

const fixture = await openFixture()
const folder = await mkdtemp(path.join(os.tmpdir(), 'farewatch-bench-'))
try {
  const prepared = await prepare(fixture)
  try {
    await run(prepared, folder)
  } finally {
    await stop(prepared.role)
  }
} finally {
  await rm(folder, { recursive: true, force: true })
  await fixture.close()
}
