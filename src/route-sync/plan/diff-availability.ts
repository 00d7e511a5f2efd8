import { sql, type Tx } from '../../db/database.ts'
import { selectOne } from '../../db/transaction.ts'

/** What a staged `with-availability` list would do. */
export interface AvailabilityDiff {
  /** Available routes before it. */
  readonly available: number
  readonly gained: number
  readonly newlyAbsent: number
  /** Those, and those that were pending before it. */
  readonly missing: number
  /** Losses that it would confirm. */
  readonly lost: number
  /** Live routes that the list speaks of for the first time, by leaving them out. */
  readonly unlisted: number
  /** Pairs that are not among the routes. */
  readonly unknownPairs: number
}

/**
 * Compares the staged list with the availability that holds now: `snapshot_gained`, `snapshot_missing` (available
 * routes that it lacks) and `snapshot_unlisted`. Of a route that began after the list had arrived its silence says nothing.
 */
export async function diffAvailability(
  tx: Tx,
  { confirmations, arrivedAt }: { readonly confirmations: number; readonly arrivedAt: Date | null },
): Promise<AvailabilityDiff> {
  await sql`
    create temp table availability_diff on commit drop as
    select r.departure_id, r.destination_id, v.available as before, s.departure_id is not null as listed,
           r.valid_from <= coalesce(${arrivedAt}::timestamptz, 'infinity') as spoken_of
      from route_version r
      left join route_availability_version v
             on (v.departure_id, v.destination_id) = (r.departure_id, r.destination_id) and v.valid_to is null
      left join staged_route s
             on (s.departure_id, s.destination_id) = (r.departure_id, r.destination_id)
     where r.valid_to is null
       and v.available is distinct from (s.departure_id is not null)
  `.execute(tx)
  await sql`
    create temp table snapshot_gained on commit drop as
    select departure_id, destination_id, before from availability_diff where listed
  `.execute(tx)
  await sql`
    create temp table snapshot_missing on commit drop as
    select departure_id, destination_id from availability_diff where before and not listed
  `.execute(tx)
  await sql`
    create temp table snapshot_unlisted on commit drop as
    select departure_id, destination_id from availability_diff
     where before is null and not listed and spoken_of
  `.execute(tx)
  return countEffect(tx, confirmations)
}

async function countEffect(tx: Tx, confirmations: number): Promise<AvailabilityDiff> {
  return selectOne(
    sql<AvailabilityDiff>`
      select (select count(*) from route_availability_version where valid_to is null and available) as available,
             (select count(*) from snapshot_gained) as gained,
             (select count(*) from snapshot_unlisted) as unlisted,
             (select count(*)
                from staged_route s
               where not exists (select from route_version r
                                  where (r.departure_id, r.destination_id) = (s.departure_id, s.destination_id)
                                    and r.valid_to is null)) as "unknownPairs",
             m.missing,
             m.newly as "newlyAbsent",
             m.confirmed as lost
        from (select count(*) as missing,
                     count(*) filter (where a.absences is null) as newly,
                     count(*) filter (where coalesce(a.absences, 0) + 1 >= ${confirmations}) as confirmed
                from snapshot_missing s
                left join pending_absence a
                       on a.list = 'with-availability'
                      and (a.departure_id, a.destination_id) = (s.departure_id, s.destination_id)) m
    `,
    tx,
  )
}

/** The same list over the same routes: it gives nothing new, and lacks exactly what is pending. */
export async function diffRepeatedAvailability(
  tx: Tx,
  confirmations: number,
): Promise<AvailabilityDiff> {
  await sql`
    create temp table staged_route (departure_id text, destination_id text) on commit drop
  `.execute(tx)
  await sql`
    create temp table snapshot_gained (departure_id text, destination_id text, before boolean) on commit drop
  `.execute(tx)
  await sql`
    create temp table snapshot_unlisted (departure_id text, destination_id text) on commit drop
  `.execute(tx)
  await sql`
    create temp table snapshot_missing on commit drop as
    select departure_id, destination_id from pending_absence where list = 'with-availability'
  `.execute(tx)
  return countEffect(tx, confirmations)
}
