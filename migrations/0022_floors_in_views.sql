-- older code: may run
-- Floors apply in the views: what an archive has moved to its files is shown no more, also before its rows are deleted.
-- Which intervals these are is said once, here, for the views and for the archive.

create view history_floor as
select coalesce(max(before), '-infinity') as before from archive where applied_at is not null;
comment on view history_floor is 'The instant since which the histories are complete: minus infinity if nothing is archived.';

-- An interval is archived if it ended by the floor and a later one of the same subject began by then: what was ever known stays known,
-- and rows that are written later do not change which ones these are.
create view archivable_route_version as
select v.departure_id, v.destination_id, v.valid_from, v.valid_to, greatest(v.valid_to, n.next_from) as archivable_at
  from route_version v
 cross join lateral (select min(l.valid_from) as next_from
                       from route_version l
                      where l.departure_id = v.departure_id and l.destination_id = v.destination_id and l.valid_from > v.valid_from) n
 where v.valid_to is not null and n.next_from is not null;
comment on view archivable_route_version is 'The intervals that an archive takes whose floor is at archivable_at or later.';
create view archivable_route_availability_version as
select v.departure_id, v.destination_id, v.valid_from, v.valid_to, greatest(v.valid_to, n.next_from) as archivable_at
  from route_availability_version v
 cross join lateral (select min(l.valid_from) as next_from
                       from route_availability_version l
                      where l.departure_id = v.departure_id and l.destination_id = v.destination_id and l.valid_from > v.valid_from) n
 where v.valid_to is not null and n.next_from is not null;
comment on view archivable_route_availability_version is 'The intervals that an archive takes whose floor is at archivable_at or later.';
-- A fare also keeps its last bookable interval: a watch ends whose fare was never bookable.
create view archivable_fare_belief_version as
select v.tracked_fare_id, v.valid_from, v.valid_to, greatest(v.valid_to, n.next_from) as archivable_at
  from fare_belief_version v
 cross join lateral (select min(l.valid_from) as next_from
                       from fare_belief_version l
                      where l.tracked_fare_id = v.tracked_fare_id and l.valid_from > v.valid_from
                        and (v.pair <> 'bookable' or l.pair = 'bookable')) n
 where v.valid_to is not null and n.next_from is not null;
comment on view archivable_fare_belief_version is 'The intervals that an archive takes whose floor is at archivable_at or later.';

-- Only rows that ended by the floor are looked up: a few, once the archive has deleted its own.
create or replace view farewatch.route_history as
select departure_id, destination_id, valid_from, valid_to,
       last_seen_at, first_missed_at, added_by as added_run_id, removed_by as removed_run_id,
       valid_to is null as is_current, changed_at,
       md5(jsonb_build_array(departure_id, destination_id, extract(epoch from valid_from))::text) as row_key,
       written_in::text::bigint as written_in
  from route_version v
 where v.valid_to is null
    or v.valid_to > (select before from history_floor)
    or not exists (select from archivable_route_version a
                    where (a.departure_id, a.destination_id, a.valid_from) = (v.departure_id, v.destination_id, v.valid_from) and a.archivable_at <= (select before from history_floor));

create or replace view farewatch.route_availability_history as
select departure_id, destination_id, available, valid_from, valid_to,
       md5(jsonb_build_array(departure_id, destination_id, extract(epoch from valid_from))::text) as row_key,
       written_in::text::bigint as written_in
  from route_availability_version v
 where v.valid_to is null
    or v.valid_to > (select before from history_floor)
    or not exists (select from archivable_route_availability_version a
                    where (a.departure_id, a.destination_id, a.valid_from) = (v.departure_id, v.destination_id, v.valid_from) and a.archivable_at <= (select before from history_floor));

create or replace view farewatch.fare_history as
select v.tracked_fare_id, v.outbound, v.return, v.pair as state, v.price, v.currency, v.valid_from, v.valid_to,
       coalesce(v.price_checked_at, s.price_checked_at) as price_checked_at,
       coalesce(v.price_reason, s.price_reason) as price_reason,
       t.flight_id, t.return_flight_id,
       t.residents_adults, t.residents_children, t.residents_infants,
       t.non_residents_adults, t.non_residents_children, t.non_residents_infants,
       f.outbound_departure_iata, f.outbound_departure_id,
       f.outbound_destination_iata, f.outbound_destination_id,
       f.outbound_airline, f.outbound_flight_numbers, f.outbound_departs_local, f.outbound_departs_at,
       f.return_departure_iata, f.return_departure_id,
       f.return_destination_iata, f.return_destination_id,
       f.return_airline, f.return_flight_numbers, f.return_departs_local, f.return_departs_at,
       md5(jsonb_build_array(v.tracked_fare_id, extract(epoch from v.valid_from))::text) as row_key,
       v.written_in::text::bigint as written_in
  from fare_belief_version v
  left join fare_state s on s.tracked_fare_id = v.tracked_fare_id and v.valid_to is null
  left join tracked_fare t on t.id = v.tracked_fare_id
  left join shown_flights f on f.id = coalesce(v.flights_id, s.flights_id)
 where v.valid_to is null
    or v.valid_to > (select before from history_floor)
    or not exists (select from archivable_fare_belief_version a
                    where (a.tracked_fare_id, a.valid_from) = (v.tracked_fare_id, v.valid_from) and a.archivable_at <= (select before from history_floor));

create or replace view farewatch.fare_survival as
select v.tracked_fare_id, v.valid_from, v.valid_to,
       v.valid_to is null as censored,
       extract(epoch from
         coalesce(v.valid_to,
                  greatest(v.valid_from,
                           case when v.closed_at is null
                                then (select s.last_good_check_at from fare_state s where s.tracked_fare_id = v.tracked_fare_id)
                                else (select max(c.last_good_check_at)
                                        from availability_change c
                                       where c.tracked_fare_id = v.tracked_fare_id
                                         and c.kind = 'expired' and c.detected_at <= v.closed_at) end))
           - v.valid_from)::double precision as lasted_seconds,
       case when v.closed_at is not null then
            (select c.reason
               from availability_change c
              where c.tracked_fare_id = v.tracked_fare_id and c.detected_at <= v.closed_at
                and c.kind in ('became_unavailable', 'expired')
                and c.kind = case when v.valid_to is null then 'expired' else 'became_unavailable' end
              order by c.seq desc
              limit 1) end as reason,
       v.opening_price, v.opening_currency, v.closing_price, v.closing_currency
  from (select tracked_fare_id, begins, valid_from, price as opening_price, currency as opening_currency,
               case when ends then valid_to else lead(valid_to) over fare end as closed_at,
               case when ends then seen_to else lead(seen_to) over fare end as valid_to,
               case when ends then price else lead(price) over fare end as closing_price,
               case when ends then currency else lead(currency) over fare end as closing_currency
          from (select tracked_fare_id, pair, valid_from, valid_to, price, currency,
                       lag(bookable_to) over fare is distinct from valid_from as begins,
                       valid_to is null or lead(bookable_from) over fare is distinct from valid_to as ends,
                       -- A check that finds something else begins the next interval where this one ends.
                       case when lead(valid_from) over fare = valid_to then valid_to end as seen_to
                  from (select *, case when pair = 'bookable' then valid_from end as bookable_from,
                               case when pair = 'bookable' then valid_to end as bookable_to
                          from fare_belief_version) v
                 where v.valid_to is null
                      or v.valid_to > (select before from history_floor)
                      or not exists (select from archivable_fare_belief_version a
                                      where (a.tracked_fare_id, a.valid_from) = (v.tracked_fare_id, v.valid_from) and a.archivable_at <= (select before from history_floor))
                window fare as (partition by tracked_fare_id order by valid_from)) b
         where pair = 'bookable' and (begins or ends)
        window fare as (partition by tracked_fare_id order by valid_from)) v
 where v.begins;

-- The sum keeps the planner from reading the index of seq where another one finds fewer rows.
create or replace view farewatch.route_changes as
select c.seq, c.id, c.kind, c.departure_id, c.destination_id, c.place_id, c.before, c.after,
       c.last_seen_at, c.first_missed_at, c.recorded_at, c.sync_run_id,
       r.fetched_at as valid_at,
       (select p.iata from place_version p
         where p.place_id = c.departure_id and p.valid_from <= r.fetched_at
           and (p.valid_to > r.fetched_at or p.valid_to is null)) as departure_iata,
       (select p.city from place_version p
         where p.place_id = c.departure_id and p.valid_from <= r.fetched_at
           and (p.valid_to > r.fetched_at or p.valid_to is null)) as departure_city,
       (select p.country from place_version p
         where p.place_id = c.departure_id and p.valid_from <= r.fetched_at
           and (p.valid_to > r.fetched_at or p.valid_to is null)) as departure_country,
       (select p.iata from place_version p
         where p.place_id = c.destination_id and p.valid_from <= r.fetched_at
           and (p.valid_to > r.fetched_at or p.valid_to is null)) as destination_iata,
       (select p.city from place_version p
         where p.place_id = c.destination_id and p.valid_from <= r.fetched_at
           and (p.valid_to > r.fetched_at or p.valid_to is null)) as destination_city,
       (select p.country from place_version p
         where p.place_id = c.destination_id and p.valid_from <= r.fetched_at
           and (p.valid_to > r.fetched_at or p.valid_to is null)) as destination_country
  from route_change c
  left join sync_run r on r.id = c.sync_run_id
 where c.seq + 0 >= (select first_seq from feed_head where feed = 'route');

create or replace view farewatch.daily_route_churn as
select (r.fetched_at at time zone 'UTC')::date as day,
       count(*) filter (where c.kind = 'route_added') as added,
       count(*) filter (where c.kind = 'route_removed') as removed,
       count(*) filter (where c.kind = 'route_gained_availability') as gained,
       count(*) filter (where c.kind = 'route_lost_availability') as lost,
       count(*) filter (where c.kind = 'place_changed') as places_changed
  from route_change c
  join sync_run r on r.id = c.sync_run_id
 where c.seq + 0 >= (select first_seq from feed_head where feed = 'route')
 group by 1;

create or replace view farewatch.availability_changes as
select seq, id, kind, tracked_fare_id, before, after, last_good_check_at, detected_at, recorded_at, schema_version,
       reason, held_since
  from availability_change
 where seq + 0 >= (select first_seq from feed_head where feed = 'availability');

create function farewatch.assert_kept(view_name text, after bigint)
returns boolean
language plpgsql stable parallel safe
as $$
declare
  first bigint := (select s.first_seq from farewatch.history_starts s where s.view_name = assert_kept.view_name);
begin
  if first is null then
    raise exception '"%" is not a feed', view_name using errcode = 'invalid_parameter_value';
  end if;
  if after < first - 1 then
    raise exception 'the records of "%" before number % are archived', view_name, first
      using errcode = 'invalid_parameter_value', hint = 'Ask for later numbers, or read the files of the archive.';
  end if;
  return true;
end;
$$;
comment on function farewatch.assert_kept(text, bigint) is 'True. Raises an error if records of a feed after a number are archived.';
