/** The comparisons of bench/sync.ts: the minimum that a sync must do, and the common alternatives. */

import { createHash } from 'node:crypto'
import { type Db, sql, type Tx } from '../src/platform/db/database.ts'
import { stageSnapshot } from '../src/routes/list.ts'
import { readRouteList } from '../src/upstream/lists/read-route-list.ts'
import type { Route } from '../src/upstream/route-list.ts'
import type { UpstreamClient } from '../src/upstream/upstream-client.ts'
import { fetchList } from '../test/support/fetch-list.ts'

const never = new AbortController().signal
const noScrub = (text: string) => text
/** A million single-row statements take minutes, so a part is measured and the rest extrapolated. */
export const ROW_BY_ROW = 20_000
const BATCH = 10_000

type Upstream = Pick<UpstreamClient, 'fetchRouteListIfModified'>

async function timed(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now()
  await work()
  return performance.now() - start
}

/** Download and hash: the minimum for an unchanged list. */
export function downloadMs(upstream: Upstream): Promise<number> {
  return timed(async () => {
    const { chunks } = await fetchList(upstream, 'routes', { signal: never })
    const hash = createHash('sha256')
    for (const chunk of chunks) hash.update(chunk)
    hash.digest()
  })
}

/** Download, read, and stage two ids a row: the minimum for a list that may have changed. */
export async function stagingMs(db: Db, upstream: Upstream): Promise<number> {
  const tx = await db.startTransaction().execute()
  const ms = await timed(async () => {
    const body = await fetchList(upstream, 'routes', { signal: never })
    await stageSnapshot(tx, noScrub, readRouteList(body))
  })
  await tx.rollback().execute()
  return ms
}

/** The table of the alternatives: the listed routes and when they were last listed. No history, no guard. */
export async function createNaiveTable(db: Db): Promise<void> {
  await sql`
    create table naive_route (
      departure_id text not null, departure_iata text, departure_city text, departure_country text,
      destination_id text not null, destination_iata text, destination_city text, destination_country text,
      seen_at timestamptz not null, primary key (departure_id, destination_id))
  `.execute(db)
}

/** One statement per row, in one transaction; extrapolated from the first rows. */
export function rowByRowMs(db: Db, upstream: Upstream): Promise<number> {
  return inRivalTransaction(db, async (tx) => {
    const start = performance.now()
    const body = await fetchList(upstream, 'routes', { signal: never })
    let all = 0
    let readMs = performance.now() - start
    let writeMs = 0
    for await (const { routes } of readRouteList(body)) {
      const before = performance.now()
      const part = routes.slice(0, Math.max(0, ROW_BY_ROW - all))
      for (const route of part) await upsert(tx, [route])
      writeMs += performance.now() - before
      all += routes.length
    }
    readMs = performance.now() - start - writeMs
    return readMs + (writeMs / Math.min(all, ROW_BY_ROW)) * all
  })
}

/** `on conflict do update` of ten thousand rows a statement; then rows that were not listed are deleted. */
export function batchedUpsertMs(db: Db, upstream: Upstream): Promise<number> {
  return inRivalTransaction(db, (tx) =>
    timed(async () => {
      await forBatches(upstream, (routes) => upsert(tx, routes))
      await sql`delete from naive_route where seen_at < now()`.execute(tx)
    }),
  )
}

/** Deletes and writes all rows, in one transaction. */
export function fullRewriteMs(db: Db, upstream: Upstream): Promise<number> {
  return inRivalTransaction(db, (tx) =>
    timed(async () => {
      await sql`truncate naive_route`.execute(tx)
      await forBatches(upstream, (routes) => upsert(tx, routes))
    }),
  )
}

async function inRivalTransaction(db: Db, run: (tx: Tx) => Promise<number>): Promise<number> {
  const start = performance.now()
  let untilCommit = 0
  const ms = await db.transaction().execute(async (tx) => {
    await sql`set local statement_timeout = 0`.execute(tx)
    const inside = await run(tx)
    untilCommit = performance.now() - start
    return inside
  })
  // The commit counts too.
  return ms + (performance.now() - start - untilCommit)
}

async function forBatches(upstream: Upstream, write: (routes: Route[]) => Promise<void>) {
  const body = await fetchList(upstream, 'routes', { signal: never })
  let waiting: Route[] = []
  for await (const { routes } of readRouteList(body)) {
    waiting.push(...routes)
    if (waiting.length < BATCH) continue
    await write(waiting)
    waiting = []
  }
  if (waiting.length > 0) await write(waiting)
}

async function upsert(tx: Tx, routes: readonly Route[]): Promise<void> {
  const column = (of: (route: Route) => string) => sql`${routes.map(of)}::text[]`
  await sql`
    insert into naive_route
    select *, now() from unnest(
      ${column((r) => r.departure.id)}, ${column((r) => r.departure.iata)},
      ${column((r) => r.departure.city)}, ${column((r) => r.departure.country)},
      ${column((r) => r.destination.id)}, ${column((r) => r.destination.iata)},
      ${column((r) => r.destination.city)}, ${column((r) => r.destination.country)})
        on conflict (departure_id, destination_id) do update
       set departure_iata = excluded.departure_iata, departure_city = excluded.departure_city,
           departure_country = excluded.departure_country, destination_iata = excluded.destination_iata,
           destination_city = excluded.destination_city, destination_country = excluded.destination_country,
           seen_at = excluded.seen_at
  `.execute(tx)
}
