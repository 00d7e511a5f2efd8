/**
 * Measures event streams: 20 resellers with one key each, and clients that follow the feeds. The API runs in a process of its
 * own, and its memory is that process's alone. The clients run in this process.
 *
 * First all clients connect at once and read what the feeds have. Then each feed gets records at a steady rate: the time from
 * the record, which is written just before its commit, to the client, for one client a key.
 *
 *   npm run bench:streams -- [seconds] [clients a key]
 */
import { once } from 'node:events'
import net from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { migrateApp } from '../src/app/app.ts'
import {
  addReseller,
  measured,
  megabytes,
  numbers,
  openBenchApp,
  printHead,
  printRow,
  quantile,
  settingsFor,
  startPostgres,
  startRole,
  timeMs,
  watchCells,
} from './harness.ts'
import { append, appendSteadily } from './records.ts'

const [SECONDS, CLIENTS_A_KEY] = numbers(30, 50)
const KEYS = 20
/** How many records each feed has at the beginning. */
const OLD_RECORDS = 200
const RECORDS_A_SECOND = 5
const GOAL_MB = 300

interface Client {
  last: number
  readonly lagsMs: number[]
}

/** A client that reads the ids, which have no gaps, and keeps how late the events are. */
async function follow({ hostname, port }: URL, key: string): Promise<Client> {
  const socket = net.connect(Number(port), hostname)
  await once(socket, 'connect')
  const client: Client = { last: 0, lagsMs: [] }
  let rest = ''
  socket.on('data', (chunk) => {
    const atMs = Date.now()
    const lines = (rest + chunk.toString('latin1')).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) {
      if (line.startsWith('id: ') && Number(line.slice(4)) !== ++client.last) {
        throw new Error(`${line} where ${client.last} was expected`)
      }
      const recordedAt = /^data: .*"recordedAt":"([^"]+)"/.exec(line)?.[1]
      if (recordedAt !== undefined) client.lagsMs.push(atMs - Date.parse(recordedAt))
    }
  })
  socket.write(
    `GET /api/v1/watch-changes/stream HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${key}\r\n\r\n`,
  )
  return client
}

const postgres = await startPostgres()
const settings = settingsFor(postgres, { API_REQUESTS_PER_SECOND: '1000' })
const app = openBenchApp(settings)
await migrateApp(app)
const keys: string[] = []
for (let i = 0; i < KEYS; i += 1) {
  const { key } = await addReseller(app, `bench-${i}`, watchCells('all', 1, 1_000_000 + i))
  keys.push(key)
}
await append(app, 0, KEYS * OLD_RECORDS)
const { pid, url, stop } = await startRole('api', settings)

let clients: Client[] = []
const allHave = async (last: number) => {
  while (!clients.every((client) => client.last === last)) await delay(20)
}
const backfillMs = await timeMs(async () => {
  const all = keys.flatMap((key) => Array.from({ length: CLIENTS_A_KEY }, () => key))
  clients = await Promise.all(all.map((key) => follow(new URL(url), key)))
  await allHave(OLD_RECORDS)
})
const { cpu } = await measured([pid], async () => {
  await appendSteadily(app, KEYS, { everyMs: 1_000 / RECORDS_A_SECOND, seconds: SECONDS })
  await allHave(OLD_RECORDS + SECONDS * RECORDS_A_SECOND)
})
const lagsMs = clients.flatMap((client) => client.lagsMs.slice(OLD_RECORDS))
const most = megabytes(pid, 'VmHWM')
printHead(`${clients.length} streams of ${KEYS} keys`, ['figure', 'value'])
printRow([`${clients.length * OLD_RECORDS} old events, s`, backfillMs / 1_000])
printRow(['record to event, p50 ms', quantile(lagsMs, 0.5)])
printRow(['record to event, p99 ms', quantile(lagsMs, 0.99)])
printRow(['CPU s of 1000 events', (1_000 * (cpu[0] ?? 0)) / lagsMs.length])
printRow([`most memory, MB (goal ${GOAL_MB})`, most])
await stop()
await app.close()
await postgres.close()
process.exit()
