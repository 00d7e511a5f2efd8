/**
 * Measures event streams: 20 resellers with one key each, and clients that follow the feeds. The API runs in a process of its
 * own, as `bin/farewatch api` starts it, and its memory is that process's alone. The clients run in this process.
 *
 * First all clients connect at once and read what the feeds have. Then each feed gets records at a steady rate: the time from
 * the record, which is written just before its commit, to the client, for one client a key.
 *
 *   npm run bench:streams -- [seconds] [clients a key]
 */
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import net from 'node:net'
import os from 'node:os'
import { setTimeout as delay } from 'node:timers/promises'
import { migrateApp } from '../src/app/app.ts'
import { createApiKey } from '../src/resellers/api-keys.ts'
import { createReseller } from '../src/resellers/resellers.ts'
import { importWatchList } from '../src/watches/import/import-watch-list.ts'
import { rowsOf } from '../src/watches/rows/watch-row.ts'
import { append } from './delivery-fixture.ts'
import { PRODUCT, startRole, stop } from './start-role.ts'
import { openBenchApp, openFixture } from './verify-fixture.ts'

const SECONDS = Number(process.argv[2] ?? 30)
const CLIENTS_A_KEY = Number(process.argv[3] ?? 50)
const KEYS = 20
/** How many records each feed has at the beginning. */
const OLD_RECORDS = 200
const RECORDS_A_SECOND = 5
const GOAL_MB = 300

interface Client {
  last: number
  inOrder: boolean
}

/** A client that reads the ids and keeps nothing. */
async function follow(
  { hostname, port }: URL,
  key: string,
  onLag: ((ms: number) => void) | undefined,
): Promise<Client> {
  const socket = net.connect(Number(port), hostname)
  await once(socket, 'connect')
  const client: Client = { last: 0, inOrder: true }
  let rest = ''
  socket.on('data', (chunk) => {
    const atMs = Date.now()
    const lines = (rest + chunk.toString('latin1')).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) {
      if (line.startsWith('id: ')) {
        const id = Number(line.slice(4))
        if (id !== client.last + 1) client.inOrder = false
        client.last = id
      } else if (onLag !== undefined && line.startsWith('data: ')) {
        const recordedAt = /"recordedAt":"([^"]+)"/.exec(line)?.[1] ?? ''
        onLag(atMs - Date.parse(recordedAt))
      }
    }
  })
  socket.write(
    `GET /api/v1/watch-changes/stream HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${key}\r\n\r\n`,
  )
  return client
}

function megabytes(pid: number | undefined, field: 'VmRSS' | 'VmHWM'): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  return Math.round(Number(new RegExp(`${field}:\\s+(\\d+)`).exec(status)?.[1]) / 1024)
}

const load = () =>
  os
    .loadavg()
    .map((n) => n.toFixed(1))
    .join(', ')
console.log(
  `load average of this machine before: ${load()}; ${os.availableParallelism()} cores; PostgreSQL durable`,
)
const fixture = await openFixture()
const app = openBenchApp(fixture, { requestsPerSecond: 1 })
const { db } = app.database
await migrateApp(app)
const keys: string[] = []
for (let i = 0; i < KEYS; i += 1) {
  const { id } = await createReseller(db, `bench-${i}`)
  const row = { list: 'all', reference: 'w', flight_id: String(1_000_000 + i) }
  const rows = [{ ...row, residents_adults: '0', non_residents_adults: '1' }]
  await importWatchList(db, { resellerId: id, source: rowsOf('bench', rows) })
  keys.push((await createApiKey(db, { resellerId: id })).text)
}
await append(app, 0, KEYS * OLD_RECORDS)
const api = await startRole(fixture, 'api', { API_REQUESTS_PER_SECOND: '1000' }, [PRODUCT])
const { pid } = api.child
const idleMb = megabytes(pid, 'VmRSS')

let lagsMs: number[] = []
const startMs = performance.now()
const clients = await Promise.all(
  keys.flatMap((key) =>
    Array.from({ length: CLIENTS_A_KEY }, (_, i) =>
      follow(new URL(api.url), key, i === 0 ? (ms) => lagsMs.push(ms) : undefined),
    ),
  ),
)
const allHave = async (last: number) => {
  while (!clients.every((client) => client.last === last)) await delay(20)
}
await allHave(OLD_RECORDS)
const backfillSeconds = (performance.now() - startMs) / 1_000
const connectedMb = megabytes(pid, 'VmRSS')
lagsMs = []
const rounds = SECONDS * RECORDS_A_SECOND
const liveMs = performance.now()
for (let i = 0; i < rounds; i += 1) {
  await append(app, 0, KEYS)
  await delay(Math.max(0, liveMs + ((i + 1) * 1_000) / RECORDS_A_SECOND - performance.now()))
}
await allHave(OLD_RECORDS + rounds)
const liveSeconds = (performance.now() - liveMs) / 1_000
const mb = { now: megabytes(pid, 'VmRSS'), peak: megabytes(pid, 'VmHWM') }

const sorted = lagsMs.toSorted((a, b) => a - b)
const at = (share: number) => sorted[Math.floor(share * sorted.length)] ?? Number.NaN
console.log(
  `${clients.length} streams, ${KEYS} keys; every client in order: ${clients.every(({ inOrder }) => inOrder) ? 'yes' : 'NO'}`,
)
console.log(`backfill: ${clients.length * OLD_RECORDS} events in ${backfillSeconds.toFixed(1)} s`)
console.log(
  `live: ${clients.length * rounds} events in ${liveSeconds.toFixed(1)} s; record to event p50 ${at(0.5)} ms, p99 ${at(0.99)} ms, longest ${sorted.at(-1)} ms (${sorted.length} events)`,
)
console.log(
  `memory of the API process: ${idleMb} MB before, ${connectedMb} MB after the backfill, ${mb.now} MB at the end, at most ${mb.peak} MB (goal: under ${GOAL_MB} MB, ${mb.peak < GOAL_MB ? 'met' : 'MISSED'})`,
)
console.log(`load average after: ${load()}`)
await stop(api)
await app.close()
await fixture.close()
process.exit()
