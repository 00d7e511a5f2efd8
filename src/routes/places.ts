import { type RawBuilder, sql, type Tx } from '../platform/db/database.ts'
import { affected, selectOne } from '../platform/db/transaction.ts'
import type { ApplyArgs } from './absences.ts'
import type { SnapshotDiff } from './guard.ts'

/**
 * One row for each place of the list. If the list gives a place several times with different attributes, the known
 * attributes stay, else the smallest ones are taken: the result depends neither on the order of the list nor flips
 * between two lists.
 */
export async function comparePlaces(tx: Tx): Promise<void> {
  await sql`
    create temp table snapshot_place on commit drop as
    select distinct on (s.place_id)
           s.place_id, s.iata, s.city, s.country,
           v.place_id is not null as known,
           v.place_id is not null and (v.iata, v.city, v.country) <> (s.iata, s.city, s.country) as changed
      from staged_place s
      left join place_version v on v.place_id = s.place_id and v.valid_to is null
     order by s.place_id, changed, s.iata collate "C", s.city collate "C", s.country collate "C"
  `.execute(tx)
}

/** The last accepted list again gives places their pending attributes. */
export async function repeatPlaces(tx: Tx): Promise<void> {
  await sql`
    create temp table snapshot_place on commit drop as
    select place_id, iata, city, country, true as known, true as changed from pending_place
  `.execute(tx)
}

/** Counts the places of the list, and what it would change of the known ones. */
export function countPlaces(
  tx: Tx,
  confirmations: number,
): Promise<Pick<SnapshotDiff, 'knownPlaces' | 'newlyEdited' | 'placesChanged' | 'renumbered'>> {
  return selectOne(
    sql`
      select count(*) filter (where known) as "knownPlaces",
             count(*) filter (where changed and p.place_id is null) as "newlyEdited",
             count(*) filter (where changed and coalesce(p.lists, 0) + 1 >= ${confirmations}) as "placesChanged",
             count(*) filter (where not known and s.iata <> ''
                                and (s.iata, s.city, s.country) in (select iata, city, country
                                                                      from place_version where valid_to is null))
               as renumbered
        from snapshot_place s
        left join pending_place p on ${isPending}
    `,
    tx,
  )
}

/** A place `s` of the list has the pending attributes `p`. */
const isPending = sql`(p.place_id, p.iata, p.city, p.country) = (s.place_id, s.iata, s.city, s.country)`

/**
 * Counts the lists in a row that give a place the same new attributes: like the absence of a route, they need
 * confirmation. Other attributes begin a new count, and the known ones end it.
 */
export async function advancePlaces(
  tx: Tx,
  { arrivedAt, previousAt, lists }: Pick<ApplyArgs, 'arrivedAt' | 'previousAt' | 'lists'>,
): Promise<void> {
  await sql`
    delete from pending_place p
     where not exists (select from snapshot_place s where s.changed and ${isPending})
  `.execute(tx)
  await sql`
    insert into pending_place as p (place_id, iata, city, country, lists, last_seen_at, first_missed_at)
    select s.place_id, s.iata, s.city, s.country, ${placeIncrement(lists)},
           ${previousAt ?? arrivedAt}::timestamptz, ${arrivedAt}::timestamptz
      from snapshot_place s
     where s.changed
        on conflict (place_id) do update set lists = p.lists + excluded.lists
  `.execute(tx)
}

/** One for each of the lists that are accepted together; one in all if the compared list gave other attributes. */
function placeIncrement(lists: number): RawBuilder<unknown> {
  if (lists === 1) return sql`1`
  return sql`case when exists (select from compared_route)
                   and not exists (select from compared_place p where ${isPending})
                  then 1 else ${lists}::integer end`
}

/** Counts the places whose new attributes lists that are accepted together would confirm. */
export async function countConfirmedPlaces(
  tx: Tx,
  { confirmations, lists }: Pick<ApplyArgs, 'confirmations' | 'lists'>,
): Promise<number> {
  const { count } = await selectOne(
    sql<{ count: number }>`
      select count(*) as count
        from snapshot_place s
        left join pending_place p on ${isPending}
       where s.changed and coalesce(p.lists, 0) + ${placeIncrement(lists)} >= ${confirmations}
    `,
    tx,
  )
  return count
}

/** Places whose new attributes are not confirmed. */
export async function countPendingPlaces(tx: Tx): Promise<number> {
  const { count } = await tx
    .selectFrom('pending_place')
    .select((query) => query.fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow()
  return count
}

/** The changes that applying records, while the state still shows what held before. */
export function draftsOfPlaces(confirmations: number): RawBuilder<unknown> {
  return sql`
    select 'place_changed', null, null, s.place_id,
           jsonb_build_object('iata', v.iata, 'city', v.city, 'country', v.country),
           jsonb_build_object('iata', s.iata, 'city', s.city, 'country', s.country), s.last_seen_at, s.first_missed_at
      from pending_place s
      join place_version v on v.place_id = s.place_id and v.valid_to is null
     where s.lists >= ${confirmations}
  `
}

/** Opens new places, and gives known ones their confirmed attributes. Returns how many changed. */
export async function applyPlaces(tx: Tx, args: ApplyArgs): Promise<number> {
  const changed = await closeChangedPlaces(tx, args)
  await openPlaces(tx, args)
  await savePlaceCodes(tx)
  await tx.deleteFrom('pending_place').where('lists', '>=', args.confirmations).execute()
  return changed
}

async function closeChangedPlaces(
  tx: Tx,
  { fetchedAt, confirmations }: ApplyArgs,
): Promise<number> {
  return affected(
    sql`
      update place_version v
         set valid_to = ${fetchedAt}, written_in = pg_current_xact_id()
        from pending_place p
       where p.lists >= ${confirmations} and v.place_id = p.place_id and v.valid_to is null
    `,
    tx,
  )
}

async function openPlaces(tx: Tx, { fetchedAt, confirmations }: ApplyArgs): Promise<void> {
  await sql`
    insert into place_version (place_id, iata, city, country, valid_from)
    select place_id, iata, city, country, ${fetchedAt}::timestamptz
      from snapshot_place
     where not known
    union all
    select place_id, iata, city, country, ${fetchedAt}::timestamptz
      from pending_place
     where lists >= ${confirmations}
  `.execute(tx)
}

/** Whether the last list has a route of a place. Only places of shared codes are looked up. */
const IS_LISTED = sql`
  (place_id in (select place_id from place_of_shared_code)
   and exists (select
                 from route_version r
                 left join pending_absence p
                        on p.list = 'routes' and (p.departure_id, p.destination_id) = (r.departure_id, r.destination_id)
                where place_id in (r.departure_id, r.destination_id) and r.valid_to is null and p.list is null))`

/**
 * Makes the table of airport codes equal to the present places: fares join routes by it. Where several places have a
 * code, those count that the last list shows.
 */
export async function savePlaceCodes(tx: Tx): Promise<void> {
  await sql`
    merge into place_code c
    using (select iata, case when count(*) = 1 then min(place_id) end as place_id
             from (select iata, place_id, rank() over (partition by iata order by ${IS_LISTED} desc) as n
                     from place_version
                    where valid_to is null and iata <> '') p
            where n = 1
            group by iata) p
       on p.iata = c.iata
     when matched and c.place_id is distinct from p.place_id then update set place_id = p.place_id
     when not matched by target then insert values (p.iata, p.place_id)
     when not matched by source then delete
  `.execute(tx)
}
