import { systemClock } from '../../src/platform/base/clock.ts'
import type { RunStatus } from '../../src/platform/base/kinds.ts'
import { type Db, sql } from '../../src/platform/db/database.ts'
import type { SyncDeps } from '../../src/routes/diff.ts'
import { GUARD_LIMITS } from '../../src/routes/guard.ts'
import { approveRun, rejectRun } from '../../src/routes/held.ts'
import { reviewRun } from '../../src/routes/read/plan-report.ts'
import type { Route } from '../../src/upstream/route-list.ts'
import { noScrub, upstreamOf } from './sync-fixtures.ts'

const never = new AbortController().signal

/** The dependencies of a sync of these routes. */
export function depsOf(db: Db, list: readonly Route[] = []): SyncDeps {
  return {
    db,
    upstream: upstreamOf(JSON.stringify(list)),
    confirmations: 2,
    guard: GUARD_LIMITS,
    scrub: noScrub,
  }
}

const decideDeps = (db: Db) => ({ ...depsOf(db), clock: systemClock })

export const approve = (db: Db, runId: number) => approveRun(decideDeps(db), runId, never)
export const reject = (db: Db, runId: number) => rejectRun(decideDeps(db), runId, never)
export const review = (db: Db, runId: number) => reviewRun(depsOf(db), runId)

/** Moves everything that happened so far back by some hours. */
export async function hoursPass(db: Db, hours: number): Promise<void> {
  const ago = sql`make_interval(hours => ${hours}::integer)`
  await sql`
    update sync_run set started_at = started_at - ${ago}, fetched_at = fetched_at - ${ago},
                        arrived_at = arrived_at - ${ago},
                        finished_at = finished_at - ${ago}
  `.execute(db)
  for (const table of ['route_version', 'route_availability_version', 'place_version']) {
    await sql`
      update ${sql.table(table)} set valid_from = valid_from - ${ago}, valid_to = valid_to - ${ago}
    `.execute(db)
  }
  await sql`
    update pending_absence set last_seen_at = last_seen_at - ${ago}, first_missed_at = first_missed_at - ${ago}
  `.execute(db)
  await sql`
    update pending_place set last_seen_at = last_seen_at - ${ago}, first_missed_at = first_missed_at - ${ago}
  `.execute(db)
  await sql`update route_change set first_missed_at = first_missed_at - ${ago}`.execute(db)
  await sql`update snapshot set kept_at = kept_at - ${ago}`.execute(db)
}

export interface DecidedRun {
  readonly status: RunStatus
  readonly resolution: string | null
  readonly resolvedBy: number | null
}

export async function runOf(db: Db, runId: number): Promise<DecidedRun> {
  const { rows } = await sql<DecidedRun>`
    select status, resolution, resolved_by as "resolvedBy"
      from farewatch.sync_runs where sync_run_id = ${runId}
  `.execute(db)
  if (rows[0] === undefined) throw new Error(`run ${runId} is not there`)
  return rows[0]
}

export async function keptLists(db: Db): Promise<number> {
  const { rows } = await sql<{ count: number }>`select count(*) as count from snapshot`.execute(db)
  return rows[0]?.count ?? -1
}
