import { appendDraftedRouteChanges, draftRouteChanges } from '../../changes/route-feed.ts'
import { type RawBuilder, sql, type Tx } from '../../db/database.ts'
import { affected } from '../../db/transaction.ts'
import type { SyncCounts } from '../runs/sync-run.ts'
import { advanceAbsences, clearConfirmed, countPending, deleteReturned } from './absences.ts'
import type { RoutesDiff } from './diff-routes.ts'

export interface ApplyArgs {
  readonly runId: number
  /** The valid time of what is applied. */
  readonly fetchedAt: Date
  readonly arrivedAt: Date
  /** When the accepted snapshot before this one arrived; null for the baseline, which makes no changes. */
  readonly previousAt: Date | null
  readonly confirmations: number
  /** How many lists that agree are accepted with this one; 1 where it is accepted alone. */
  readonly lists: number
}

/** Applies the diff of a `routes` list: absences, history, changes, in the caller's transaction. */
export async function applyRoutes(
  tx: Tx,
  diff: RoutesDiff,
  args: ApplyArgs,
): Promise<Partial<SyncCounts>> {
  const list = 'routes'
  const returned = await deleteReturned(tx, list)
  await advanceAbsences(tx, { ...args, list })
  if (args.previousAt !== null) await draftRouteChanges(tx, draftsOf(args))

  await forgetLossesOfRemoved(tx, args)
  await closeAvailabilityOfRemoved(tx, args)
  const removed = await closeRemoved(tx, args)
  const added = await openAdded(tx, args)
  await closeChangedPlaces(tx, args)
  await openPlaces(tx, args)
  await clearConfirmed(tx, { ...args, list })

  const pendingAbsences = await countPending(tx, list)
  // After a baseline the planner would otherwise take the table for empty until autovacuum comes by.
  if (args.previousAt === null) await sql`analyze route_version, place_version`.execute(tx)
  else await appendDraftedRouteChanges(tx, args.runId)
  return {
    live: diff.live + added - removed,
    added,
    removed,
    returned,
    pendingAbsences,
    placesChanged: diff.placesChanged,
    gained: 0,
    lost: 0,
  }
}

function draftsOf({ arrivedAt, previousAt, confirmations }: ApplyArgs): RawBuilder<unknown> {
  return sql`
    select 'route_added', departure_id, destination_id, null, null::jsonb,
           jsonb_build_object('available', null), ${previousAt}::timestamptz, ${arrivedAt}::timestamptz
      from snapshot_added
    union all
    select 'route_removed', p.departure_id, p.destination_id, null,
           jsonb_build_object('available', v.available), null, p.last_seen_at, p.first_missed_at
      from pending_absence p
      left join route_availability_version v
             on (v.departure_id, v.destination_id) = (p.departure_id, p.destination_id) and v.valid_to is null
     where p.list = 'routes' and p.absences >= ${confirmations}
    union all
    select 'place_changed', null, null, s.place_id,
           jsonb_build_object('iata', v.iata, 'city', v.city, 'country', v.country),
           jsonb_build_object('iata', s.iata, 'city', s.city, 'country', s.country),
           ${previousAt}::timestamptz, ${arrivedAt}::timestamptz
      from snapshot_place s
      join place_version v on v.place_id = s.place_id and v.valid_to is null
     where s.changed
  `
}

async function closeRemoved(
  tx: Tx,
  { runId, fetchedAt, confirmations }: ApplyArgs,
): Promise<number> {
  return affected(
    sql`
      update route_version r
         set valid_to = ${fetchedAt}, removed_by = ${runId}
        from pending_absence p
       where p.list = 'routes' and p.absences >= ${confirmations}
         and (r.departure_id, r.destination_id) = (p.departure_id, p.destination_id)
         and r.valid_to is null
    `,
    tx,
  )
}

/** A route that is gone has no availability: its interval ends with the route's. */
async function closeAvailabilityOfRemoved(
  tx: Tx,
  { fetchedAt, confirmations }: ApplyArgs,
): Promise<void> {
  await sql`
    update route_availability_version v
       set valid_to = ${fetchedAt}
      from pending_absence p
     where p.list = 'routes' and p.absences >= ${confirmations}
       and (v.departure_id, v.destination_id) = (p.departure_id, p.destination_id)
       and v.valid_to is null
  `.execute(tx)
}

async function forgetLossesOfRemoved(tx: Tx, { confirmations }: ApplyArgs): Promise<void> {
  await sql`
    delete from pending_absence loss
     using pending_absence p
     where loss.list = 'with-availability'
       and p.list = 'routes' and p.absences >= ${confirmations}
       and (loss.departure_id, loss.destination_id) = (p.departure_id, p.destination_id)
  `.execute(tx)
}

async function openAdded(tx: Tx, { runId, fetchedAt }: ApplyArgs): Promise<number> {
  return affected(
    sql`
      insert into route_version (departure_id, destination_id, valid_from, added_by)
      select departure_id, destination_id, ${fetchedAt}::timestamptz, ${runId}::bigint from snapshot_added
    `,
    tx,
  )
}

async function closeChangedPlaces(tx: Tx, { fetchedAt }: ApplyArgs): Promise<void> {
  await sql`
    update place_version v
       set valid_to = ${fetchedAt}
      from snapshot_place s
     where s.changed and v.place_id = s.place_id and v.valid_to is null
  `.execute(tx)
}

async function openPlaces(tx: Tx, { fetchedAt }: ApplyArgs): Promise<void> {
  await sql`
    insert into place_version (place_id, iata, city, country, valid_from)
    select place_id, iata, city, country, ${fetchedAt}::timestamptz
      from snapshot_place
     where changed or not known
  `.execute(tx)
}
