/**
 * Measures a sync of the routes list on PostgreSQL with durable settings, in one run and on the same bytes. Compares it
 * with the floor (download and hash if nothing has changed, else download, read and stage) and with three common
 * alternatives: one upsert per row (extrapolated from a part), upserts in batches, and a full rewrite. Prints medians of
 * the rounds (the alternatives run in the first round alone), the rows that each churn wrote, what a thousand resellers
 * that chose routes add to a list, and the peak memory.
 *
 *   npm run bench:sync -- [routes] [rounds]
 */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import os from 'node:os'
import path from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { acquireEmbeddedPostgres } from '../src/embedded/postgres.ts'
import { findPlace } from '../src/embedded/postgres-place.ts'
import { type Db, openDatabase, sql } from '../src/platform/db/database.ts'
import { migrate } from '../src/platform/db/migrate.ts'
import { selectOne } from '../src/platform/db/transaction.ts'
import { FARES_PROVIDER } from '../src/upstream/fares/fares-provider.ts'
import { createUpstreamClient, type UpstreamClient } from '../src/upstream/upstream-client.ts'
import { log, syncOnce } from './sync-ours.ts'
import {
  batchedUpsertMs,
  createNaiveTable,
  downloadMs,
  fullRewriteMs,
  ROW_BY_ROW,
  rowByRowMs,
  stagingMs,
} from './sync-rivals.ts'

const ROUTES = Number(process.argv[2] ?? 40_000)
const ROUNDS = Number(process.argv[3] ?? 5)
const PLACES = 4_000
const CHURN = [0, 0.01, 0.2]

/** A list in which each `generation` moves a share of the routes to other destinations. */
function listOf(generation: number, churn: number): string {
  const moved = Math.floor(ROUTES * churn)
  const place = (i: number) => ({
    id: String(i),
    iata: `X${i}`,
    city: `City ${i}`,
    country: `Country ${i % 90}`,
  })
  const routes = Array.from({ length: ROUTES }, (_, i) => {
    const pair = i < moved ? i + generation * ROUTES : i
    return {
      departure: place(pair % PLACES),
      destination: place(PLACES + (Math.floor(pair / PLACES) % 100_000)),
    }
  })
  return JSON.stringify(routes)
}

interface ListServer {
  body: string
  readonly url: string
  close(): void
}

async function serveLists(): Promise<ListServer> {
  const server = http.createServer((_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(served.body)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const served = {
    body: '[]',
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () => void server.close(),
  }
  return served
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN
}

/** Rows inserted, updated or deleted in our tables; without temporary tables. */
async function rowsWritten(db: Db): Promise<number> {
  // An idle session reports its counts after ten seconds.
  await delay(11_000)
  const { rows } = await selectOne(
    sql<{ rows: number }>`
      select coalesce(sum(n_tup_ins + n_tup_upd + n_tup_del), 0)::bigint as rows
        from pg_stat_user_tables where schemaname = 'farewatch_private' and relname <> 'naive_route'
    `,
    db,
  )
  return rows
}

interface Step {
  readonly churn: number
  readonly ours: readonly number[]
  readonly floor: readonly number[]
  readonly rivals: Readonly<Record<string, number>>
  /** Rows written by one sync. */
  readonly written: number
}

async function measure(db: Db, upstream: UpstreamClient, server: ListServer): Promise<Step[]> {
  const steps: Step[] = []
  let generation = 0
  let before = await rowsWritten(db)
  for (const churn of CHURN) {
    const ours: number[] = []
    const floor: number[] = []
    let rivals: Step['rivals'] = {}
    for (let round = 0; round < ROUNDS; round += 1) {
      generation += 1
      server.body = listOf(churn === 0 ? 0 : generation, churn)
      floor.push(churn === 0 ? await downloadMs(upstream) : await stagingMs(db, upstream))
      ours.push((await syncOnce(db, upstream)).ms)
      if (round > 0) continue
      rivals = {
        'an upsert a row': await rowByRowMs(db, upstream),
        'a batched upsert': await batchedUpsertMs(db, upstream),
        'a full rewrite': await fullRewriteMs(db, upstream),
      }
    }
    const after = await rowsWritten(db)
    steps.push({ churn, ours, floor, rivals, written: (after - before) / ROUNDS })
    before = after
  }
  return steps
}

function print(steps: readonly Step[]): void {
  const line = (cells: readonly string[]) => console.log(cells.map((c) => c.padStart(18)).join(''))
  const rivals = Object.keys(steps[0]?.rivals ?? {})
  console.log(`\nms; "an upsert a row" wrote ${ROW_BY_ROW} rows, the rest is extrapolated`)
  line(['churn', 'floor', 'ours', 'ours / floor', ...rivals, 'rows written'])
  for (const { churn, ours, floor, rivals: theirs, written } of steps) {
    const [our, least] = [median(ours), median(floor)]
    const shown = rivals.map(
      (name) => `${theirs[name]?.toFixed(0)} (${((theirs[name] ?? 0) / our).toFixed(1)})`,
    )
    const ratio = (our / least).toFixed(2)
    line([
      `${churn * 100} %`,
      least.toFixed(0),
      our.toFixed(0),
      ratio,
      ...shown,
      written.toFixed(0),
    ])
  }
  console.log('in brackets: how many times ours')
}

const RESELLERS = 1_000
/** Each list adds so many routes and removes as many, of the list before the last. */
const MOVED = 1_000

/** Resellers that chose a country, ten places or twenty pairs each. */
async function addResellers(db: Db): Promise<void> {
  await sql`
    insert into reseller (name, routes)
    select 'R' || i, case i % 3
             when 0 then jsonb_build_object('countries', jsonb_build_array('Country ' || i % 90))
             when 1 then jsonb_build_object('places', (select jsonb_agg('X' || (i * 10 + n)) from generate_series(0, 9) n))
             else jsonb_build_object('pairs', (select jsonb_agg(jsonb_build_object('departure', 'X' || (i + n), 'destination', 'X' || (${PLACES} + n)))
                                                 from generate_series(0, 19) n)) end
      from generate_series(1, ${RESELLERS}) i
  `.execute(db)
}

async function measureResellers(db: Db, upstream: UpstreamClient, server: ListServer) {
  const churn = MOVED / ROUTES
  let generation = 500
  const rounds = async () => {
    const took: number[] = []
    for (let round = -2; round < ROUNDS; round += 1) {
      generation += 1
      server.body = listOf(generation, churn)
      const { ms } = await syncOnce(db, upstream)
      if (round >= 0) took.push(ms)
    }
    return median(took)
  }
  const alone = await rounds()
  await addResellers(db)
  const chosen = await rounds()
  const { records } = await selectOne(
    sql<{
      records: number
    }>`select coalesce(sum(last_seq), 0)::bigint / ${ROUNDS + 2} as records from reseller`,
    db,
  )
  console.log(
    `\n${2 * MOVED} changes: ${alone.toFixed(0)} ms; with ${RESELLERS} resellers that chose routes ${chosen.toFixed(0)} ms ` +
      `(${(chosen / alone).toFixed(2)} times), ${records} records`,
  )
}

async function measureMemory(databaseUrl: string, server: ListServer): Promise<void> {
  server.body = listOf(1_000, 0.01)
  const child = fork(path.join(import.meta.dirname, 'sync-once.ts'), [databaseUrl, server.url])
  const [{ grownBytes, status }] = (await once(child, 'message')) as [
    { grownBytes: number; status: string },
  ]
  await once(child, 'exit')
  const times = (grownBytes / server.body.length).toFixed(1)
  console.log(`\none sync (${status}) in its own process took ${times} times the body in memory`)
}

const load = () => os.loadavg()[0]?.toFixed(1)
const home = await mkdtemp(path.join(os.tmpdir(), 'farewatch-bench-'))
const postgres = await acquireEmbeddedPostgres({ home, log })
const database = openDatabase({ url: postgres.url, applicationName: 'bench', log })
const server = await serveLists()
const upstream = createUpstreamClient({
  provider: FARES_PROVIDER,
  baseUrl: server.url,
  scrub: (text) => text,
  log,
})
try {
  await migrate(database.db)
  await createNaiveTable(database.db)
  server.body = listOf(0, 0)
  const first = await syncOnce(database.db, upstream)
  const megabytes = (server.body.length / 1e6).toFixed(1)
  console.log(
    `load ${load()}; ${ROUTES} routes, ${megabytes} MB; baseline ${first.ms.toFixed(0)} ms`,
  )
  print(await measure(database.db, upstream, server))
  await measureResellers(database.db, upstream, server)
  await measureMemory(postgres.url, server)
  console.log(`load ${load()}`)
} finally {
  await upstream.close()
  server.close()
  await database.close()
  const { directory } = await findPlace(home)
  await postgres.release()
  await rm(directory, { recursive: true, force: true })
  await rm(home, { recursive: true, force: true })
}
