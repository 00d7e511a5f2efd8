import { sql } from '../../platform/db/database.ts'
import { HISTORY_FLOOR } from '../../platform/db/history-floor.ts'
import { ACCEPTED, ARRIVED_AT } from '../runs.ts'

/** Since when feeds and histories are compared. */
export const FLOOR = sql`coalesce(${HISTORY_FLOOR}, '-infinity'::timestamptz)`

export const RUNS = sql`
  run as (
    select id, list, fetched_at as at, baseline, date_trunc('milliseconds', ${ARRIVED_AT}) as arrived_at,
           lag(date_trunc('milliseconds', ${ARRIVED_AT})) over (partition by list order by fetched_at) as previous_at
      from sync_run
     where status in ${ACCEPTED})`

/**
 * Route changes that the intervals do not imply, and implied ones that are missing. Each beginning and each end of
 * an interval is one, except for those of a baseline. When an availability was last seen, and when a place was, the
 * intervals do not show. A record whose place stayed as it was is one of a renumbering, from an earlier version.
 */
export const ROUTE_CHANGE = sql`
  with ${RUNS},
       implied as (
         select 'route_added' as kind, v.departure_id, v.destination_id, null::text as place_id, r.id as run_id, null::jsonb as before,
                jsonb_build_object('available', null) as after, r.previous_at as last_seen_at, r.arrived_at as first_missed_at
           from route_version v join run r on r.id = v.added_by
         union all
         select 'route_removed', v.departure_id, v.destination_id, null, v.removed_by,
                jsonb_build_object('available', (select a.available from route_availability_version a
                                                  where (a.departure_id, a.destination_id) = (v.departure_id, v.destination_id)
                                                    and a.valid_to = v.valid_to)),
                null, v.last_seen_at, v.first_missed_at
           from route_version v where v.removed_by is not null
         union all
         select case when v.available then 'route_gained_availability' else 'route_lost_availability' end,
                v.departure_id, v.destination_id, null, r.id, jsonb_build_object('available', p.available),
                jsonb_build_object('available', v.available), case when v.available then r.previous_at end,
                case when v.available then r.arrived_at end
           from route_availability_version v
           join run r on r.list = 'with-availability' and r.at = v.valid_from
           left join route_availability_version p
                  on (p.departure_id, p.destination_id, p.valid_to) = (v.departure_id, v.destination_id, v.valid_from)
          where v.available or p.available
         union all
         select 'place_changed', null, null, v.place_id, r.id,
                jsonb_build_object('iata', p.iata, 'city', p.city, 'country', p.country),
                jsonb_build_object('iata', v.iata, 'city', v.city, 'country', v.country), null, null
           from place_version v
           join place_version p on (p.place_id, p.valid_to) = (v.place_id, v.valid_from)
           join run r on r.list = 'routes' and r.at = v.valid_from),
       change as (
         select i.*, r.*,
                row_number() over (partition by i.kind, i.departure_id, i.destination_id, i.place_id, i.run_id) as n
           from implied i
           join run r on r.id = i.run_id
          where not r.baseline and r.at > ${FLOOR}),
       record as (
         select c.seq, c.kind, c.departure_id, c.destination_id, c.place_id, c.sync_run_id as run_id, c.before, c.after,
                case when c.kind not in ('route_lost_availability', 'place_changed') then c.last_seen_at end as last_seen_at,
                case when c.kind not in ('route_lost_availability', 'place_changed') then c.first_missed_at end as first_missed_at,
                lag(r.at) over (order by c.seq) as at_before, r.at,
                row_number() over (partition by c.kind, c.departure_id, c.destination_id, c.place_id, c.sync_run_id order by c.seq) as n
           from route_change c left join run r on r.id = c.sync_run_id
          where (r.at > ${FLOOR} or r.at is null) and c.before is distinct from c.after)
  select coalesce(i.at, c.at) as at, coalesce(i.run_id, c.run_id) as run_id,
         jsonb_strip_nulls(jsonb_build_object('feed', 'route', 'seq', c.seq::text, 'placeId', coalesce(i.place_id, c.place_id),
                                              'departureId', coalesce(i.departure_id, c.departure_id),
                                              'destinationId', coalesce(i.destination_id, c.destination_id))) as subject,
         coalesce(i.kind, c.kind) as field,
         case when i.kind is not null then jsonb_build_object('before', i.before, 'after', i.after) end as replayed,
         case when c.kind is not null then jsonb_build_object('before', c.before, 'after', c.after) end as stored
    from change i
    full join record c
           on (i.kind, i.run_id, i.n) = (c.kind, c.run_id, c.n)
          and coalesce(i.place_id, i.departure_id) = coalesce(c.place_id, c.departure_id)
          and coalesce(i.destination_id, '') = coalesce(c.destination_id, '')
   where i.kind is null or c.kind is null or c.at < c.at_before
      or (i.before, i.after, i.last_seen_at, i.first_missed_at)
         is distinct from (c.before, c.after, c.last_seen_at, c.first_missed_at)`
