import { type Db, sql } from '../../src/platform/db/database.ts'
import { loadSnapshot } from '../../src/routes/snapshots.ts'
import type { Route } from '../../src/upstream/route-list.ts'
import { livePairs } from '../routes/sync-fixtures.ts'

/**
 * Compares the live routes with the kept snapshot of the last accepted list. A route that is absent from that list stays
 * live until its absence is confirmed.
 */
export async function routesUnlikeTheirList(db: Db): Promise<string[]> {
  // One snapshot for all queries: a list may be applied meanwhile.
  const tx = await db
    .startTransaction()
    .setIsolationLevel('repeatable read')
    .setAccessMode('read only')
    .execute()
  try {
    const expected = new Set([...(await lastList(tx)), ...(await pendingAbsences(tx))])
    const live = new Set(await livePairs(tx))
    return [
      ...[...expected.difference(live)].map((pair) => `${pair} is missing`),
      ...[...live.difference(expected)].map((pair) => `${pair} is superfluous`),
    ]
  } finally {
    await tx.rollback().execute()
  }
}

async function lastList(db: Db): Promise<string[]> {
  const { rows } = await sql<{ runId: number; contentHash: string }>`
    select id as "runId", content_hash as "contentHash" from sync_run
     where list = 'routes' and status in ('applied', 'unchanged', 'approved')
     order by fetched_at desc
     limit 1
  `.execute(db)
  const [run] = rows
  if (run === undefined) return []
  const text = Buffer.concat(await loadSnapshot(db, run)).toString()
  const routes = JSON.parse(text) as Route[]
  return routes.map(({ departure, destination }) => `${departure.id}-${destination.id}`)
}

async function pendingAbsences(db: Db): Promise<string[]> {
  const { rows } = await sql<{ pair: string }>`
    select departure_id || '-' || destination_id as pair from pending_absence where list = 'routes'
  `.execute(db)
  return rows.map(({ pair }) => pair)
}
