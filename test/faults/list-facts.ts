import type { RouteListName } from '../../src/platform/base/kinds.ts'
import { type Db, sql } from '../../src/platform/db/database.ts'
import { selectOne } from '../../src/platform/db/transaction.ts'
import { GUARD_LIMITS } from '../../src/routes/guard.ts'
import type { SyncOutcome } from '../../src/routes/runs.ts'
import { syncList } from '../../src/routes/sync.ts'
import type { UpstreamClient } from '../../src/upstream/upstream-client.ts'
import { noScrub, outcomeOf } from '../routes/sync-fixtures.ts'

/** Everything that a list can change, as counts and hashes. */
export interface ListFacts {
  readonly routes: string
  readonly available: string
  readonly places: string
  readonly absences: string
  readonly changes: number
}

export async function listFacts(db: Db): Promise<ListFacts> {
  return selectOne(
    sql<ListFacts>`
      select md5((select string_agg(v::text, '' order by departure_id, destination_id, valid_from)
                    from route_version v)) as routes,
             md5((select string_agg(v::text, '' order by departure_id, destination_id, valid_from)
                    from route_availability_version v)) as available,
             md5((select string_agg(v::text, '' order by place_id, valid_from) from place_version v)) as places,
             md5((select string_agg(v::text, '' order by v::text) from pending_absence v)) as absences,
             (select count(*) from route_change) as changes
    `,
    db,
  )
}

/** Makes the next sync request the whole list. With validators, an unchanged list is not sent again. */
export async function deleteValidators(db: Db): Promise<void> {
  await sql`update sync_run set etag = null, last_modified = null`.execute(db)
}

/** One run of the real sync. */
export async function syncOnce(
  db: Db,
  upstream: Pick<UpstreamClient, 'fetchRouteListIfModified'>,
  list: RouteListName = 'routes',
): Promise<SyncOutcome> {
  const deps = { db, upstream, confirmations: 2, guard: GUARD_LIMITS, scrub: noScrub }
  return outcomeOf(await syncList(deps, { list }, new AbortController().signal))
}
