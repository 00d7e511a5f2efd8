import { appendDraftedRouteChanges, draftRouteChanges } from '../../changes/route-feed.ts'
import { type RawBuilder, sql, type Tx } from '../../db/database.ts'
import { affected } from '../../db/transaction.ts'
import type { SyncCounts } from '../runs/sync-run.ts'
import { advanceAbsences, clearConfirmed, countPending, deleteReturned } from './absences.ts'
import type { ApplyArgs } from './apply-routes.ts'
import type { AvailabilityDiff } from './diff-availability.ts'

const LIST = 'with-availability'

/**
 * Applies the diff of a `with-availability` list: gains at once, losses once confirmed.
 *
 * A live route that no accepted list has spoken of becomes unavailable without a change record: it has not lost
 * what it was never known to have.
 */
export async function applyAvailability(
  tx: Tx,
  diff: AvailabilityDiff,
  args: ApplyArgs,
): Promise<Partial<SyncCounts>> {
  const returned = await deleteReturned(tx, LIST)
  await advanceAbsences(tx, { ...args, list: LIST })
  if (args.previousAt !== null) await draftRouteChanges(tx, draftsOf(args))

  await closeUnavailable(tx, args)
  const lost = await closeLost(tx, args)
  await openLostAndUnlisted(tx, args)
  const gained = await openGained(tx, args)
  await clearConfirmed(tx, { ...args, list: LIST })

  const pendingAbsences = await countPending(tx, LIST)
  if (args.previousAt === null) await sql`analyze route_availability_version`.execute(tx)
  else await appendDraftedRouteChanges(tx, args.runId)
  return {
    live: diff.available + gained - lost,
    added: 0,
    removed: 0,
    returned,
    pendingAbsences,
    placesChanged: 0,
    gained,
    lost,
  }
}

function draftsOf({ arrivedAt, previousAt, confirmations }: ApplyArgs): RawBuilder<unknown> {
  return sql`
    select 'route_gained_availability', departure_id, destination_id, null,
           jsonb_build_object('available', before), jsonb_build_object('available', true),
           ${previousAt}::timestamptz, ${arrivedAt}::timestamptz
      from snapshot_gained
    union all
    select 'route_lost_availability', departure_id, destination_id, null,
           jsonb_build_object('available', true), jsonb_build_object('available', false),
           last_seen_at, first_missed_at
      from pending_absence
     where list = ${LIST} and absences >= ${confirmations}
  `
}

async function closeUnavailable(tx: Tx, { fetchedAt }: ApplyArgs): Promise<void> {
  await sql`
    update route_availability_version v
       set valid_to = ${fetchedAt}
      from snapshot_gained g
     where not g.before
       and (v.departure_id, v.destination_id) = (g.departure_id, g.destination_id)
       and v.valid_to is null
  `.execute(tx)
}

async function openGained(tx: Tx, { fetchedAt }: ApplyArgs): Promise<number> {
  return affected(
    sql`
      insert into route_availability_version (departure_id, destination_id, available, valid_from)
      select departure_id, destination_id, true, ${fetchedAt}::timestamptz from snapshot_gained
    `,
    tx,
  )
}

async function closeLost(tx: Tx, { fetchedAt, confirmations }: ApplyArgs): Promise<number> {
  return affected(
    sql`
      update route_availability_version v
         set valid_to = ${fetchedAt}
        from pending_absence p
       where p.list = ${LIST} and p.absences >= ${confirmations}
         and (v.departure_id, v.destination_id) = (p.departure_id, p.destination_id)
         and v.valid_to is null
    `,
    tx,
  )
}

async function openLostAndUnlisted(tx: Tx, { fetchedAt, confirmations }: ApplyArgs): Promise<void> {
  await sql`
    insert into route_availability_version (departure_id, destination_id, available, valid_from)
    select departure_id, destination_id, false, ${fetchedAt}::timestamptz
      from pending_absence
     where list = ${LIST} and absences >= ${confirmations}
    union all
    select departure_id, destination_id, false, ${fetchedAt}::timestamptz
      from snapshot_unlisted
  `.execute(tx)
}
