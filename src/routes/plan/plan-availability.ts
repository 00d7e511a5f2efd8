import { type RawBuilder, sql, type Tx } from '../../platform/db/database.ts'
import { affected, selectOne } from '../../platform/db/transaction.ts'
import { type ApplyArgs, closeAvailability, countLosses } from './absences.ts'
import type { SnapshotDiff } from './guard.ts'

const LIST = 'with-availability'

interface DiffArgs {
  readonly isStaged: boolean
  readonly confirmations: number
  /** When the list arrived. Null if it has just arrived. */
  readonly arrivedAt: Date | null
}

/**
 * Compares a `with-availability` list with the availability that holds now: fills `snapshot_gained`,
 * `snapshot_missing` (available routes that the list lacks) and `snapshot_unlisted` (live routes whose availability is
 * unknown and that the list lacks).
 */
export async function diffAvailability(tx: Tx, args: DiffArgs): Promise<SnapshotDiff> {
  await (args.isStaged ? compareAvailability(tx, args.arrivedAt) : repeatAvailability(tx))
  return countDiff(tx, args)
}

/**
 * One full join with the available routes leaves few pairs; only these are looked up among the routes. At a million
 * routes this takes a third of the time of joining all live routes with their availability and the list.
 */
async function compareAvailability(tx: Tx, arrivedAt: Date | null): Promise<void> {
  await sql`
    create temp table availability_difference on commit drop as
    select coalesce(s.departure_id, v.departure_id) as departure_id,
           coalesce(s.destination_id, v.destination_id) as destination_id,
           s.departure_id is not null as listed
      from staged_route s
      full join (select departure_id, destination_id
                   from route_availability_version
                  where valid_to is null and available) v
        on (s.departure_id, s.destination_id) = (v.departure_id, v.destination_id)
     where s.departure_id is null or v.departure_id is null
  `.execute(tx)
  await sql`analyze availability_difference`.execute(tx)
  await sql`
    create temp table snapshot_gained on commit drop as
    select d.departure_id, d.destination_id, v.available as before
      from availability_difference d
      join route_version r
        on (r.departure_id, r.destination_id) = (d.departure_id, d.destination_id) and r.valid_to is null
      left join route_availability_version v
             on (v.departure_id, v.destination_id) = (d.departure_id, d.destination_id) and v.valid_to is null
     where d.listed
  `.execute(tx)
  await sql`
    create temp table snapshot_missing on commit drop as
    select departure_id, destination_id from availability_difference where not listed
  `.execute(tx)
  // A list says nothing about a route that was added after the list had arrived.
  await sql`
    create temp table snapshot_unlisted on commit drop as
    select r.departure_id, r.destination_id
      from route_version r
     where r.valid_to is null
       and r.valid_from <= coalesce(${arrivedAt}::timestamptz, 'infinity')
       and not exists (select from route_availability_version v
                        where (v.departure_id, v.destination_id) = (r.departure_id, r.destination_id)
                          and v.valid_to is null)
       and not exists (select from availability_difference d
                        where d.listed and (d.departure_id, d.destination_id) = (r.departure_id, r.destination_id))
  `.execute(tx)
}

/** The same list over the same routes gains nothing and lacks exactly the routes with a pending absence. */
async function repeatAvailability(tx: Tx): Promise<void> {
  await sql`
    create temp table snapshot_gained (departure_id text, destination_id text, before boolean) on commit drop
  `.execute(tx)
  await sql`
    create temp table snapshot_unlisted (departure_id text, destination_id text) on commit drop
  `.execute(tx)
  await sql`
    create temp table snapshot_missing on commit drop as
    select departure_id, destination_id from pending_absence where list = ${LIST}
  `.execute(tx)
}

async function countDiff(tx: Tx, { isStaged, confirmations }: DiffArgs): Promise<SnapshotDiff> {
  // A listed route that is available is live, so every unknown pair is among the differences.
  const unknownPairs = sql`
    (select count(*) from availability_difference where listed) - (select count(*) from snapshot_gained)`
  const { confirmed, ...losses } = await countLosses(tx, LIST, confirmations)
  const counts = await selectOne(
    sql<Pick<SnapshotDiff, 'live' | 'gained' | 'unknownPairs'>>`
      select (select count(*) from route_availability_version where valid_to is null and available) as live,
             (select count(*) from snapshot_gained) as gained,
             ${isStaged ? unknownPairs : sql`null::bigint`} as "unknownPairs"
    `,
    tx,
  )
  const ofPlaces = { knownPlaces: 0, newlyEdited: 0, placesChanged: 0, renumbered: 0 }
  return { ...losses, ...counts, ...ofPlaces, added: 0, readded: 0, removed: 0, lost: confirmed }
}

/** The changes that applying records, while the state still shows what held before. */
export function draftsOfAvailability({
  arrivedAt,
  previousAt,
  confirmations,
}: ApplyArgs): RawBuilder<unknown> {
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

/**
 * Applies what was compared to the history of availability: gains at once, losses once they are confirmed.
 *
 * A live route whose availability is unknown and that the list lacks becomes unavailable without a change record: a
 * route cannot lose what it was never known to have.
 */
export async function applyAvailability(tx: Tx, args: ApplyArgs) {
  await closeUnavailable(tx, args)
  const lost = await closeAvailability(tx, { ...args, list: LIST })
  await openLostAndUnlisted(tx, args)
  const gained = await openGained(tx, args)
  return { added: 0, removed: 0, placesChanged: 0, gained, lost }
}

async function closeUnavailable(tx: Tx, { fetchedAt }: ApplyArgs): Promise<void> {
  await sql`
    update route_availability_version v
       set valid_to = ${fetchedAt}, written_in = pg_current_xact_id()
      from snapshot_gained g
     where not g.before
       and (v.departure_id, v.destination_id) = (g.departure_id, g.destination_id)
       and v.valid_to is null
  `.execute(tx)
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

async function openGained(tx: Tx, { fetchedAt }: ApplyArgs): Promise<number> {
  return affected(
    sql`
      insert into route_availability_version (departure_id, destination_id, available, valid_from)
      select departure_id, destination_id, true, ${fetchedAt}::timestamptz from snapshot_gained
    `,
    tx,
  )
}
