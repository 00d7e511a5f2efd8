import { appendWatchDrafts, createWatchDrafts } from '../feeds/append-records.ts'
import type { RouteListName } from '../platform/base/kinds.ts'
import { type RawBuilder, sql, type Tx } from '../platform/db/database.ts'
import type { ListArgs } from './absences.ts'

/** The intervals in which routes are listed, or available. */
const INTERVALS: Readonly<Record<RouteListName, RawBuilder<unknown>>> = {
  routes: sql`route_version`,
  'with-availability': sql`(select * from route_availability_version where available)`,
}

const CODE = sql`coalesce(nullif(p.iata, ''), p.place_id)`

/** A lateral query uses the index. A join would follow the planner's estimate, which is wrong by thousands for a new list. */
function placeOf(column: string): RawBuilder<unknown> {
  return sql`(
    select ${CODE} as code,
           jsonb_build_object('id', p.place_id, 'iata', p.iata, 'city', p.city, 'country', p.country) as shown
      from place_version p
     where p.place_id = ${sql.ref(column)} and p.valid_to is null)`
}

/**
 * Adds to the drafted changes of routes what resellers read: the places, and when the pair of codes was listed first.
 *
 * Resellers know codes, not ids. A pair of codes that was listed before under other ids does not come, and one that
 * still is does not go: such a draft stays as it is. Of several drafts of one pair, one is described. Call it when the
 * list is applied.
 */
export async function describeRoutes(
  tx: Tx,
  { list, fetchedAt }: Pick<ListArgs, 'list' | 'fetchedAt'>,
): Promise<void> {
  await sql`
    with place as materialized (
           select p.place_id, ${CODE} as code from place_version p where p.valid_to is null),
         same as materialized (select p.place_id, o.place_id as other_id from place p join place o using (code)),
         pair as (
           select d.ctid as draft, d.kind, d.departure_id, d.destination_id, min(r.first_seen_at) as first_seen_at
             from route_change_draft d
             join same a on a.place_id = d.departure_id
             join same b on b.place_id = d.destination_id
            cross join lateral (
                  select min(valid_from) as first_seen_at from route_version
                   where (departure_id, destination_id) = (a.other_id, b.other_id)) r
            cross join lateral (
                  select count(*) as n from ${INTERVALS[list]} i
                   where (i.departure_id, i.destination_id) = (a.other_id, b.other_id)
                     and (i.departure_id, i.destination_id) <> (d.departure_id, d.destination_id)
                     and case when d.kind in ('route_added', 'route_gained_availability')
                              then i.valid_from < ${fetchedAt} and coalesce(i.valid_to >= ${fetchedAt}, true)
                              else i.valid_to is null end) others
            group by d.ctid, d.kind, d.departure_id, d.destination_id
           having sum(others.n) = 0),
         shown as (
           select pair.*, jsonb_build_object('departure', a.shown, 'destination', b.shown) as route,
                  row_number() over (partition by kind, a.code, b.code order by departure_id, destination_id) as n
             from pair
            cross join lateral ${placeOf('departure_id')} a
            cross join lateral ${placeOf('destination_id')} b)
    update route_change_draft d
       set route = n.route, first_seen_at = n.first_seen_at
      from shown n
     where n.n = 1 and d.ctid = n.draft
  `.execute(tx)
}

/**
 * Appends the changes of a run to the feeds of the resellers that chose them: by the routes in their settings, or by
 * watches of routes. A record of a watch takes the place of the one that the settings chose.
 *
 * Changes and choices meet by equal names, in one hash join, however many resellers there are: the planner knows neither
 * the number of a run's changes nor of the names that resellers chose, and would loop over both. A pair chooses the
 * changes of its places too: with another code, it would be another pair.
 */
export async function notifyResellers(tx: Tx, runId: number): Promise<void> {
  await createWatchDrafts(tx)
  await sql`select set_config('enable_nestloop', 'off', true)`.execute(tx)
  await sql`
    with changed as materialized (
           select c.seq, n.what, n.name
             from route_change c
            cross join lateral (
                  select c.route #>> '{departure,iata}', c.route #>> '{destination,iata}') r (departure, destination)
            cross join lateral (values
                  ('country', c.route #>> '{departure,country}'), ('country', c.route #>> '{destination,country}'),
                  ('place', r.departure), ('place', r.destination), ('pair', r.departure || '-' || r.destination),
                  ('country', c.before ->> 'country'), ('country', c.after ->> 'country'),
                  ('place', c.before ->> 'iata'), ('place', c.after ->> 'iata'),
                  ('end', c.before ->> 'iata'), ('end', c.after ->> 'iata')) n (what, name)
            where c.sync_run_id = ${runId}),
         chosen as materialized (
           select id as reseller_id, null::uuid as watch_id, null::text as reference, n.what, n.name
             from reseller
            cross join lateral (
                  select 'country', jsonb_array_elements_text(routes -> 'countries')
                   union all
                  select 'place', jsonb_array_elements_text(routes -> 'places')
                   union all
                  select n.*
                    from jsonb_array_elements(routes -> 'pairs') p
                   cross join lateral ${namesOf(sql`(p ->> 'departure')`, sql`(p ->> 'destination')`, sql`(p -> 'eitherDirection')::boolean`)}
                 ) n (what, name)
            where routes is not null
            union all
           select w.reseller_id, w.id, w.reference, n.what, n.name
             from watch w
            cross join lateral ${namesOf(sql`w.departure`, sql`w.destination`, sql`w.either_direction`)}
            where w.departure is not null and w.paused_at is null)
    insert into watch_change_draft (reseller_id, watch_id, reference, route_seq)
    select distinct reseller_id, watch_id, reference, seq
      from (select h.reseller_id, h.watch_id, h.reference, c.seq,
                   rank() over (partition by h.reseller_id, c.seq order by h.watch_id is null) as n
              from changed c
              join chosen h using (what, name)
              join reseller r on r.id = h.reseller_id and r.disabled_at is null) m
     where n = 1
  `.execute(tx)
  await sql`select set_config('enable_nestloop', 'on', true)`.execute(tx)
  await appendWatchDrafts(tx)
}

/** The names under which a pair is chosen. */
function namesOf(
  departure: RawBuilder<unknown>,
  destination: RawBuilder<unknown>,
  isEither: RawBuilder<unknown>,
): RawBuilder<unknown> {
  return sql`
    (values ('pair', ${departure} || '-' || ${destination}),
            ('pair', case when ${isEither} then ${destination} || '-' || ${departure} end),
            ('end', ${departure}), ('end', ${destination})) n (what, name)
  `
}
