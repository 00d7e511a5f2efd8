import type { RouteChangeKind } from '../../base/kinds.ts'
import { type Db, sql } from '../../db/database.ts'
import type { Resolution } from '../runs/resolve-runs.ts'
import { RunNotFoundError } from '../runs/sync-errors.ts'
import { findFinishedRun, type SyncRunRow } from '../runs/sync-run-queries.ts'

/** Everything that is known of a run. */
export interface ShownRun extends SyncRunRow {
  readonly notModified: boolean
  readonly etag: string | null
  readonly lastModified: string | null
  /** What ended its review; null where it had none, or is held. */
  readonly resolution: Resolution | null
  readonly resolvedAt: Date | null
  readonly resolvedBy: number | null
  /** The runs under the same review, it included; empty where it had none. */
  readonly reviewRuns: readonly number[]
  /** Bytes that its list takes as it is kept; null where it is not kept. */
  readonly storedBytes: number | null
  /** Changes that it recorded, by kind. */
  readonly changes: Partial<Record<RouteChangeKind, number>>
}

type MoreOfRun = Omit<ShownRun, keyof SyncRunRow>

/** Throws RunNotFoundError, also of a run that is under way. */
export async function showRun(db: Db, runId: number): Promise<ShownRun> {
  const run = await findFinishedRun(db, runId)
  const { rows } = await sql<MoreOfRun>`
    select r.not_modified as "notModified", r.etag, r.last_modified as "lastModified",
           r.resolution, r.resolved_at as "resolvedAt", r.resolved_by as "resolvedBy",
           (select coalesce(json_agg(o.id order by o.id), '[]')
              from sync_run o where o.review_id = r.review_id) as "reviewRuns",
           (select s.stored_bytes from snapshot s where s.content_hash = r.content_hash) as "storedBytes",
           (select coalesce(jsonb_object_agg(c.kind, c.count), '{}')
              from (select kind, count(*) from route_change where sync_run_id = r.id group by kind) c) as changes
      from sync_run r
     where r.id = ${runId}
  `.execute(db)
  const [more] = rows
  if (run === undefined || more === undefined) throw new RunNotFoundError(runId)
  return { ...run, ...more }
}
