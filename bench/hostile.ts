/**
 * Measures what a reseller notices while another caller floods the API: the latency of its paced requests, calm and
 * during each flood. Calm and floods alternate within one run, and the figures are medians of the rounds. The limits are
 * the API's own defaults.
 *
 *   npm run bench:hostile -- [seconds a step] [rounds] [floods, all by default]
 */
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { migrateApp } from '../src/app/app.ts'
import { newKey } from '../src/resellers/api-keys.ts'
import { headerArgs, startCannon } from './api-load.ts'
import {
  addReseller,
  median,
  numbers,
  openBenchApp,
  printHead,
  printRow,
  quantile,
  settingsFor,
  startPostgres,
  startRole,
  watchCells,
} from './harness.ts'

const [SECONDS, ROUNDS] = numbers(10, 3)
const CHOSEN = process.argv.slice(4)
/** Below the rate limit of a key. */
const REQUESTS_PER_SECOND = 40
const [ROWS, FLOOD_ROWS, CSV_ROWS] = [100, 5_000, 100_000]
const GOAL = 3
const CONNECTIONS = 40
/** A flood first uses up its burst of requests, which is not what lasts. */
const FLOOD_WARM_UP_MS = Math.min(2_000, SECONDS * 200)
const FIRST_FLIGHT = 101_000_000_000

function watches(rows: number, threshold: string): string {
  const all = Array.from({ length: rows }, (_, i) => ({
    reference: `w${i}`,
    flightId: `${FIRST_FLIGHT + i}`,
    passengers: { nonResidents: { adults: 2 } },
    priceThresholdAmount: threshold,
  }))
  return JSON.stringify({ watches: all })
}

/** The longest CSV. */
function csv(): string {
  const lines = Array.from({ length: CSV_ROWS }, (_, i) => `w${i},${FIRST_FLIGHT + i},0,2`)
  return ['reference,flight_id,residents_adults,non_residents_adults', ...lines].join('\n')
}

const bearer = (key: string) => ({ authorization: `Bearer ${key}` })

/** Sends the requests of a reseller at work at their instants, whether or not earlier ones are answered. */
async function measure(api: string, key: string) {
  const list = `${api}/watch-lists/l/watches`
  const reads = [`${list}?limit=${ROWS}`, `${api}/watch-changes?after=0`, `${list}/w1`]
  const headers = { ...bearer(key), 'content-type': 'application/json' }
  const write = { method: 'POST', body: watches(1, '10') }
  const startMs = performance.now()
  const sent = Array.from({ length: SECONDS * REQUESTS_PER_SECOND }, async (_, i) => {
    await delay(Math.max(0, startMs + (i * 1_000) / REQUESTS_PER_SECOND - performance.now()))
    const sentMs = performance.now()
    // One small write in ten.
    const url = i % 10 === 9 ? list : (reads[i % reads.length] ?? list)
    const answer = await fetch(url, { headers, ...(i % 10 === 9 ? write : {}) })
    await answer.arrayBuffer()
    return { ms: performance.now() - sentMs, isRefused: !answer.ok }
  })
  const answers = await Promise.all(sent)
  const all = answers.map(({ ms }) => ms)
  const refused = answers.filter(({ isRefused }) => isRefused).length
  return { p50: quantile(all, 0.5), p99: quantile(all, 0.99), refused }
}

/** The arguments of the senders of each flood. */
async function floodsOf(api: string, key: string, folder: string) {
  const list = `${api}/watch-lists/l/watches`
  const get = (url: string, headers: Record<string, string> = bearer(key)) => {
    return [[...headerArgs(headers), url]]
  }
  const post = async (name: string, body: string, type = 'application/json') => {
    const file = path.join(folder, name)
    await writeFile(file, body)
    return ['-m', 'POST', '-i', file, ...headerArgs({ 'content-type': type, ...bearer(key) }), list]
  }
  const mix = 'residents[adults]=0&nonResidents[adults]=1'
  return {
    // Two bodies in turn: each import changes every watch.
    imports: await Promise.all(['1', '2'].map((to) => post(to, watches(FLOOD_ROWS, to)))),
    csv: [await post('csv', csv(), 'text/csv')],
    brackets: [await post('brackets', '['.repeat(1_000_000))],
    'empty objects': [await post('objects', `[${'{},'.repeat(333_000)}{}]`)],
    verifies: get(`${api}/flights/fares/verify?flightId=${FIRST_FLIGHT}&${mix}`),
    polls: get(`${api}/watch-changes?wait=1`),
    lists: get(`${list}?limit=1000`),
    'made-up keys': get(`${api}/watch-changes`, bearer(newKey((max) => max - 1))),
    documentation: get(`${new URL(api).origin}/openapi.json`, { 'accept-encoding': 'br' }),
  }
}

/** Runs the flood while `during` does. */
async function whileFlooded<T>(
  senders: readonly (readonly string[])[],
  during: () => Promise<T>,
): Promise<T> {
  const how = { connections: CONNECTIONS / senders.length, seconds: 3_600 }
  const running = senders.map((args) => startCannon(args, how))
  // Real floods come from other machines: here the senders must not take the processor from what is measured.
  for (const { pid = 0 } of running) os.setPriority(pid, os.constants.priority.PRIORITY_LOW)
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

async function run(api: string, [quiet, hostile]: readonly [string, string], folder: string) {
  await measure(api, quiet)
  const columns = ['p50 calm', 'flooded', 'p99 calm', 'flooded', 'ratio', `goal ${GOAL}`, 'refused']
  printHead(`${ROUNDS} rounds of ${SECONDS} s, milliseconds`, ['flood', ...columns])
  for (const [name, senders] of Object.entries(await floodsOf(api, hostile, folder))) {
    if (CHOSEN.length > 0 && !CHOSEN.includes(name)) continue
    const [calm, flooded] = [[], []] as Awaited<ReturnType<typeof measure>>[][]
    for (let round = 0; round < ROUNDS; round += 1) {
      calm?.push(await measure(api, quiet))
      flooded?.push(await whileFlooded(senders, () => measure(api, quiet)))
    }
    const of = (which: 'p50' | 'p99' | 'refused') =>
      [calm, flooded].map((all) => median((all ?? []).map((one) => one[which])))
    const [calmMs = 0, floodedMs = 0] = of('p99')
    const ratio = floodedMs / calmMs
    const judged = ratio <= GOAL ? 'met' : 'missed'
    printRow([name, ...of('p50'), calmMs, floodedMs, ratio, judged, of('refused')[1] ?? 0])
  }
}

const postgres = await startPostgres()
const folder = await mkdtemp(path.join(os.tmpdir(), 'farewatch-bench-'))
try {
  const settings = settingsFor(postgres)
  const app = openBenchApp(settings)
  await migrateApp(app)
  const { key: quiet } = await addReseller(app, 'quiet', watchCells('l', ROWS, FIRST_FLIGHT))
  const { key: hostile } = await addReseller(
    app,
    'hostile',
    watchCells('l', FLOOD_ROWS, FIRST_FLIGHT),
  )
  await app.close()
  const role = await startRole('api', settings)
  await run(`${role.url}/api/v1`, [quiet, hostile], folder)
  await role.stop()
} finally {
  await rm(folder, { recursive: true, force: true })
  await postgres.close()
}
