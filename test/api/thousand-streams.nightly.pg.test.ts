import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import net from 'node:net'
import { expect, onTestFinished } from 'vitest'
import { it } from '../support/test-database.ts'
import { until } from '../support/until.ts'
import { startApiProcess } from './api-process.ts'
import { appendRecords } from './append-records.ts'
import { fareOf, listWith, newCaller, type ResellerCalls, watch } from './reseller-calls.ts'

const RESELLERS = 20
const STREAMS_A_KEY = 50
const OLD_RECORDS = 200
const ROUNDS = 60
const RECORDS_A_ROUND = 10
/** With it a record has 1.2 kB, about as many as one of a fare with two legs. */
const PADDING = 700
const LIMIT_MB = 300

interface Client {
  /** Whether each id was the one after the last. */
  inOrder: boolean
  last: number
}

/** A client that reads the ids and keeps nothing. */
async function follow(port: number, { key }: ResellerCalls): Promise<Client> {
  const socket = net.connect(port, '127.0.0.1')
  onTestFinished(() => void socket.destroy())
  await once(socket, 'connect')
  const client: Client = { inOrder: true, last: 0 }
  let rest = ''
  socket.on('data', (chunk) => {
    const lines = (rest + chunk.toString('latin1')).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) {
      if (!line.startsWith('id: ')) continue
      const id = Number(line.slice(4))
      if (id !== client.last + 1) client.inOrder = false
      client.last = id
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

// Fault: A thousand clients read streams.
it('a thousand streams in one API process all clients get every record in order, and the process stays under 300 MB', async ({
  db,
  databaseUrl,
  annotate,
}) => {
  const { api, url } = await startApiProcess(databaseUrl, { API_REQUESTS_PER_SECOND: '1000' })
  const base = url.origin
  const callers: ResellerCalls[] = []
  for (let i = 0; i < RESELLERS; i += 1) {
    const caller = await newCaller(db, base, `reseller ${i}`)
    await listWith(caller, 'all', [watch('A'), watch('B', { flightId: '102' })])
    callers.push(caller)
  }
  const fares = [await fareOf(db, '101'), await fareOf(db, '102')]
  const append = (count: number) =>
    Promise.all(
      callers.map(({ resellerId }) =>
        appendRecords(db, { resellerId, fares, count, padding: PADDING }),
      ),
    )
  await append(OLD_RECORDS)
  const idle = megabytes(api.child.pid, 'VmRSS')

  const clients = await Promise.all(
    callers.flatMap((caller) =>
      Array.from({ length: STREAMS_A_KEY }, () => follow(Number(url.port), caller)),
    ),
  )
  for (let round = 0; round < ROUNDS; round += 1) await append(RECORDS_A_ROUND)
  const total = OLD_RECORDS + ROUNDS * RECORDS_A_ROUND
  await until('that all clients have all records', () =>
    clients.every(({ last }) => last === total),
  )

  const mb = {
    idle,
    now: megabytes(api.child.pid, 'VmRSS'),
    peak: megabytes(api.child.pid, 'VmHWM'),
  }
  await annotate(
    `MB with ${clients.length} streams and ${clients.length * total} events: ${JSON.stringify(mb)}`,
  )
  expect(clients.every(({ inOrder }) => inOrder)).toBe(true)
  expect(mb.peak).toBeLessThan(LIMIT_MB)
})
