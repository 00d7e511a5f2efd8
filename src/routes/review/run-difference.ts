import { type RawBuilder, sql, type Tx } from '../../platform/db/database.ts'
import { listOfRun } from '../snapshots/fetched-list.ts'
import { findHeldRun } from './decide-run.ts'
import { type ReviewDeps, withPlan } from './report-plan.ts'

/** Destinations by departure, both as place ids. */
export type RoutesByDeparture = Readonly<Record<string, readonly string[]>>

/** Every route that approving a held run would change. */
export interface RunDifference {
  /** Live (or available) routes that the list lacks. */
  readonly missing: RoutesByDeparture
  /** New routes; for `with-availability`, routes that become available. */
  readonly added: RoutesByDeparture
}

/** Reads all routes in which a held list differs from the present state. Throws the errors of `approveRun`. */
export async function readRunDifference(deps: ReviewDeps, runId: number): Promise<RunDifference> {
  const run = await findHeldRun(deps.db, runId)
  const { list, arrivedAt } = run
  const added = list === 'routes' ? sql`snapshot_added` : sql`snapshot_gained`
  const args = { list, fetched: listOfRun(run), arrivedAt, confirmations: 1 }
  return withPlan(deps, args, async (tx) => ({
    missing: await readPairs(tx, sql`snapshot_missing`),
    added: await readPairs(tx, added),
  }))
}

async function readPairs(tx: Tx, pairs: RawBuilder<unknown>): Promise<RoutesByDeparture> {
  const { rows } = await sql<{ id: string; destinations: string[] }>`
    select departure_id as id, array_agg(destination_id order by destination_id) as destinations
      from ${pairs}
     group by departure_id
     order by departure_id
  `.execute(tx)
  return Object.fromEntries(rows.map(({ id, destinations }) => [id, destinations]))
}
