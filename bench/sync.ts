/**
 * Measures a sync of the routes list on PostgreSQL with durable settings, in one run and on the same bytes. The floor is
 * download and hash if nothing has changed, else download, read and stage. The rival upserts the rows in batches and keeps no
 * history. Prints medians of the rounds, the rows that each sync wrote, and the peak memory.
 *
 *   npm run bench:sync -- [routes] [rounds]
 */
import { createHash } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { migrateApp } from '../src/app/app.ts'
import { type Db, sql, type Tx } from '../src/platform/db/database.ts'
import { selectOne } from '../src/platform/db/transaction.ts'
import { stageSnapshot } from '../src/routes/list.ts'
import { readRouteList } from '../src/upstream/lists/read-route-list.ts'
import type { Route } from '../src/upstream/route-list.ts'
import { fetchList } from '../test/support/fetch-list.ts'
import { startListServer } from '../test/support/list-server.ts'
import {
  FAREWATCH,
  median,
  numbers,
  openBenchApp,
  peakMegabytes,
  printHead,
  printRow,
  settingsFor,
  startPostgres,
  syncOnce,
  timeMs,
} from './harness.ts'

const [ROUTES, ROUNDS] = numbers(40_000, 5)
const PLACES = 4_000
const BATCH = 10_000
const RESELLERS = 1_000

/** A list in which each `generation` moves a share of the routes to other destinations. */
function listOf(generation: number, churn: number): Route[] {
  const place = (i: number) => {
    return { id: `${i}`, iata: `X${i}`, city: `City ${i}`, country: `Country ${i % 90}` }
  }
  return Array.from({ length: ROUTES }, (_, i) => {
    const pair = i < ROUTES * churn ? i + generation * ROUTES : i
    const destination = PLACES + (Math.floor(pair / PLACES) % 100_000)
    return { departure: place(pair % PLACES), destination: place(destination) }
  })
}

const { signal } = new AbortController()
const postgres = await startPostgres()
const server = await startListServer()
const settings = settingsFor(postgres, { UPSTREAM_BASE_URL: server.url })
const app = openBenchApp(settings)
const { db } = app.database

const download = () => fetchList(app.upstream, 'routes', { signal })

async function hashList(): Promise<void> {
  const hash = createHash('sha256')
  for (const chunk of (await download()).chunks) hash.update(chunk)
  hash.digest()
}

async function stageList(): Promise<void> {
  const tx = await db.startTransaction().execute()
  await stageSnapshot(tx, (text) => text, readRouteList(await download()))
  await tx.rollback().execute()
}

const ours = () => syncOnce(app, 'routes')

/** The listed routes and when they were last listed: no history, no guard. */
async function batchedUpsert(): Promise<void> {
  await db.transaction().execute(async (tx) => {
    await sql`set local statement_timeout = 0`.execute(tx)
    let waiting: Route[] = []
    for await (const { routes } of readRouteList(await download())) {
      waiting.push(...routes)
      if (waiting.length < BATCH) continue
      await upsert(tx, waiting)
      waiting = []
    }
    await upsert(tx, waiting)
    await sql`delete from naive_route where seen_at < now()`.execute(tx)
  })
}

async function upsert(tx: Tx, routes: readonly Route[]): Promise<void> {
  const column = (of: (route: Route) => string) => sql`${routes.map(of)}::text[]`
  const place = (side: 'departure' | 'destination') =>
    (['id', 'iata', 'city', 'country'] as const).map((name) => column((route) => route[side][name]))
  await sql`
    insert into naive_route
    select *, now() from unnest(${sql.join([...place('departure'), ...place('destination')])})
        on conflict (departure_id, destination_id) do update
       set departure_iata = excluded.departure_iata, departure_city = excluded.departure_city,
           departure_country = excluded.departure_country, destination_iata = excluded.destination_iata,
           destination_city = excluded.destination_city, destination_country = excluded.destination_country,
           seen_at = excluded.seen_at
  `.execute(tx)
}

async function rowsWritten(): Promise<number> {
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

let generation = 0
const serve = (churn: number) => {
  generation += 1
  server.serve({ routes: listOf(churn === 0 ? 0 : generation, churn) })
}

async function measure(name: string, churn: number): Promise<void> {
  const before = await rowsWritten()
  const times: Record<'floor' | 'ours' | 'upsert', number[]> = { floor: [], ours: [], upsert: [] }
  for (let round = 0; round < ROUNDS; round += 1) {
    serve(churn)
    times.floor.push(await timeMs(churn === 0 ? hashList : stageList))
    times.ours.push(await timeMs(ours))
    times.upsert.push(await timeMs(batchedUpsert))
  }
  const written = ((await rowsWritten()) - before) / ROUNDS
  const [floor, own, upserted] = [times.floor, times.ours, times.upsert].map(median)
  if (floor === undefined || own === undefined || upserted === undefined) return
  printRow([name, floor, own, own / floor, upserted, upserted / own, written])
}

/** Resellers that chose a country, ten places or twenty pairs each. */
async function addResellers(to: Db): Promise<void> {
  await sql`
    insert into reseller (name, routes)
    select 'R' || i, case i % 3
             when 0 then jsonb_build_object('countries', jsonb_build_array('Country ' || i % 90))
             when 1 then jsonb_build_object('places', (select jsonb_agg('X' || (i * 10 + n)) from generate_series(0, 9) n))
             else jsonb_build_object('pairs', (select jsonb_agg(jsonb_build_object('departure', 'X' || (i + n), 'destination', 'X' || (${PLACES} + n)))
                                                 from generate_series(0, 19) n)) end
      from generate_series(1, ${RESELLERS}) i
  `.execute(to)
}

try {
  await migrateApp(app)
  await sql`
    create table naive_route (
      departure_id text not null, departure_iata text, departure_city text, departure_country text,
      destination_id text not null, destination_iata text, destination_city text, destination_country text,
      seen_at timestamptz not null, primary key (departure_id, destination_id))
  `.execute(db)
  serve(0)
  await ours()
  const columns = ['floor', 'ours', 'of floor', 'batched upsert', 'of ours', 'rows written']
  printHead(`${ROUTES} routes, milliseconds`, ['churn', ...columns])
  for (const percent of [0, 1, 20]) await measure(`${percent} %`, percent / 100)
  await addResellers(db)
  await measure(`1 %, ${RESELLERS} resellers`, 0.01)
  const megabytes = JSON.stringify(listOf(0, 0)).length / 1e6
  serve(0.01)
  const env = { PATH: process.env.PATH, ...settings }
  const [least, most] = await Promise.all(
    [['--version'], ['sync', 'routes']].map((args) => peakMegabytes([FAREWATCH, ...args], env)),
  )
  const times = ((most ?? 0) - (least ?? 0)) / megabytes
  console.log(
    `\na list of ${megabytes.toFixed(0)} MB took ${times.toFixed(1)} times its bytes of memory`,
  )
} finally {
  await app.close()
  await server.close()
  await postgres.close()
}
