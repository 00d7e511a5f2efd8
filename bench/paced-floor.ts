/**
 * The floor of a small budget, in a process of its own: a bare undici loop that makes paced calls and keeps nothing, and one
 * prepared transaction a second that records a row for each call.
 *
 *   node bench/paced-floor.ts <upstream> <database> <calls a second>
 */
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { Pool } from 'undici'

const [upstreamUrl = '', databaseUrl = '', perSecond = '20'] = process.argv.slice(2)
const calls = Number(perSecond)
const pool = new Pool(upstreamUrl, { allowH2: false, connections: calls, pipelining: 1 })
const client = new pg.Client({ connectionString: databaseUrl })
await client.connect()
await client.query(
  'create table if not exists floor_check (id int primary key, checked_at timestamptz, checks int)',
)

const RECORD = {
  name: 'record',
  text: `
    insert into floor_check as f select id, now(), 1 from unnest($1::int[]) id
        on conflict (id) do update set checked_at = excluded.checked_at, checks = f.checks + 1
  `,
}

async function call(id: number): Promise<void> {
  const { body } = await pool.request({
    method: 'GET',
    path: `/fares/verify?flightId=${1_000_000 + id}`,
  })
  JSON.parse(await body.text())
}

async function record(ids: readonly number[]): Promise<void> {
  await client.query('begin')
  await client.query({ ...RECORD, values: [ids] })
  await client.query('commit')
}

const fromMs = performance.now()
process.send?.('ready')
process.once('disconnect', () => process.exit())
for (let n = 1; ; n += 1) {
  await delay(Math.max(0, fromMs + (n * 1_000) / calls - performance.now()))
  void call(n % (60 * calls))
  if (n % calls !== 0) continue
  void record(Array.from({ length: calls }, (_, i) => (n - i) % (60 * calls)))
}
