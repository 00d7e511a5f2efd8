-- older code: must stop
-- The public SQL has one name and one type for one thing, each view says its grain and its key, and an ended fare is ended.
-- A column of the present is called as the thing itself, that of before has the suffix _before. No column is a word of SQL.

alter view farewatch.fares_current rename column return to return_leg;
alter view farewatch.fare_history rename column return to return_leg;
alter view farewatch.availability_changes rename column before to belief_before;
alter view farewatch.availability_changes rename column after to belief;
alter view farewatch.route_changes rename column before to attributes_before;
alter view farewatch.route_changes rename column after to attributes;
alter view farewatch.sync_runs rename column id to sync_run_id;
alter view farewatch.daily_network rename column available to available_routes;
alter view farewatch.daily_country_pairs rename column available to available_routes;

-- An ended fare has no state of its legs: no answer said that they are unavailable.
create or replace view farewatch.fares_current as
select t.id as tracked_fare_id, t.flight_id, t.return_flight_id,
       t.residents_adults, t.residents_children, t.residents_infants,
       t.non_residents_adults, t.non_residents_children, t.non_residents_infants,
       case when s.expired_at is null then case when s.hidden is null then s.outbound else 'unknown' end end as outbound,
       case when s.expired_at is null then case when s.hidden is null or s.return is null then s.return else 'unknown' end end as return_leg,
       case when s.expired_at is not null then 'ended' when s.hidden is null then s.pair else 'unknown' end as state,
       case when p.is_shown then s.price end as price,
       case when p.is_shown then s.currency end as currency,
       case when s.last_good_check_at <= clock_timestamp() + interval '10 s' then s.last_good_check_at end as last_good_check_at,
       case when s.last_good_check_at <= clock_timestamp() + interval '10 s'
            then extract(epoch from clock_timestamp() - s.last_good_check_at)::float8 end as age_seconds,
       s.expired_at is null
         and coalesce(clock_timestamp() - s.last_good_check_at < interval '-10 s'
                      or clock_timestamp() - s.last_good_check_at > r.fresh_for, true) as stale,
       s.last_check_at, s.last_reason, s.ever_available_at as first_bookable_at, s.expired_at,
       t.ended_at as last_watch_ended_at, t.created_at,
       case when s.hidden is null and s.pair = 'bookable' and s.price_checked_at <= clock_timestamp() + interval '10 s'
            then s.price_checked_at end as price_checked_at,
       case when s.hidden is null and s.pair = 'bookable'
            then coalesce(s.price_reason, case when not p.is_fresh then 'stale' end) end as price_reason,
       f.outbound_departure_iata, f.outbound_departure_id, f.outbound_destination_iata, f.outbound_destination_id,
       f.outbound_airline, f.outbound_flight_numbers, f.outbound_departs_local, f.outbound_departs_at,
       f.return_departure_iata, f.return_departure_id, f.return_destination_iata, f.return_destination_id,
       f.return_airline, f.return_flight_numbers, f.return_departs_local, f.return_departs_at,
       s.hidden as hidden_reason, s.contradicted_since, s.held_since
  from tracked_fare t
  join fare_state s on s.tracked_fare_id = t.id
  left join fare_schedule q on q.tracked_fare_id = t.id
 cross join lateral (select fresh_for(q.rate) as fresh_for) r
 cross join lateral (select coalesce(clock_timestamp() - s.price_checked_at >= interval '-10 s'
                                     and clock_timestamp() - s.price_checked_at <= r.fresh_for, false) as is_fresh) a
 cross join lateral (select a.is_fresh,
                            a.is_fresh and s.hidden is null and s.price_reason is distinct from 'held' as is_shown) p
  left join shown_flights f on f.id = s.flights_id;

-- The interval that began last by the instant: if it has ended by then, so has the fare.
drop function farewatch.fares_as_of(timestamptz);
create function farewatch.fares_as_of(instant timestamptz)
returns table (tracked_fare_id bigint, flight_id text, return_flight_id text,
               residents_adults smallint, residents_children smallint, residents_infants smallint,
               non_residents_adults smallint, non_residents_children smallint, non_residents_infants smallint,
               outbound text, return_leg text, state text, price numeric, currency text, valid_from timestamptz, expired_at timestamptz,
               outbound_departure_iata text, outbound_departure_id text, outbound_destination_iata text, outbound_destination_id text,
               outbound_airline text, outbound_flight_numbers integer[], outbound_departs_local timestamp, outbound_departs_at timestamptz,
               return_departure_iata text, return_departure_id text, return_destination_iata text, return_destination_id text,
               return_airline text, return_flight_numbers integer[], return_departs_local timestamp, return_departs_at timestamptz)
language sql stable parallel safe
begin atomic
  select h.tracked_fare_id, h.flight_id, h.return_flight_id,
         h.residents_adults, h.residents_children, h.residents_infants,
         h.non_residents_adults, h.non_residents_children, h.non_residents_infants,
         case when i.holds then h.outbound end, case when i.holds then h.return_leg end,
         case when i.holds then h.state else 'ended' end,
         case when i.holds then h.price end, case when i.holds then h.currency end,
         h.valid_from, case when not i.holds then h.valid_to end,
         h.outbound_departure_iata, h.outbound_departure_id, h.outbound_destination_iata, h.outbound_destination_id,
         h.outbound_airline, h.outbound_flight_numbers, h.outbound_departs_local, h.outbound_departs_at,
         h.return_departure_iata, h.return_departure_id, h.return_destination_iata, h.return_destination_id,
         h.return_airline, h.return_flight_numbers, h.return_departs_local, h.return_departs_at
    from farewatch.fare_history h
   cross join lateral (select h.valid_to is null or h.valid_to > instant as holds) i
   where h.valid_from <= instant
     and (i.holds or not exists (select from farewatch.fare_history n
                                  where n.tracked_fare_id = h.tracked_fare_id
                                    and n.valid_from > h.valid_from and n.valid_from <= instant))
     and farewatch.assert_kept(instant);
end;

-- Records from before the kind first_seen keep in the table what their readers have read.
create or replace view farewatch.availability_changes as
select c.seq, c.id,
       case when c.before ->> 'pair' = 'unknown' and c.kind <> 'expired' then 'first_seen' else c.kind end as kind,
       c.tracked_fare_id, c.before as belief_before, c.after as belief, c.last_good_check_at, c.detected_at, c.recorded_at,
       c.schema_version, c.reason, c.held_since,
       c.before ->> 'pair' as state_before,
       case when c.kind = 'expired' then 'ended' else c.after ->> 'pair' end as state,
       (c.before #>> '{price,amount}')::numeric as price_before, c.before #>> '{price,currency}' as currency_before,
       (c.after #>> '{price,amount}')::numeric as price, c.after #>> '{price,currency}' as currency,
       f.outbound ->> 'from' as outbound_departure_iata, f.outbound ->> 'to' as outbound_destination_iata,
       f.outbound ->> 'airline' as outbound_airline, (f.outbound ->> 'departsAt')::timestamp as outbound_departs_local,
       f.return ->> 'from' as return_departure_iata, f.return ->> 'to' as return_destination_iata,
       f.return ->> 'airline' as return_airline, (f.return ->> 'departsAt')::timestamp as return_departs_local
  from availability_change c
 cross join lateral (select coalesce(nullif(c.after #> '{outbound,flight}', 'null'), c.before #> '{outbound,flight}') as outbound,
                            coalesce(nullif(c.after #> '{return,flight}', 'null'), c.before #> '{return,flight}') as return) f
 where c.seq + 0 >= (select first_seq from feed_head where feed = 'availability');

-- The routes of the first accepted list were not added: `live` counts them.
create or replace view farewatch.sync_runs as
select id as sync_run_id, list, status, baseline, reason_code, reason, started_at, fetched_at as valid_at, finished_at,
       bytes, content_hash, fetched, duplicates, conflicting_places, unknown_pairs,
       live, case when not baseline then added end as added, removed, returned, pending_absences, places_changed,
       case when not baseline then gained end as gained, lost, durations_ms,
       resolution, resolved_at, resolved_by, not_modified, coalesce(arrived_at, fetched_at) as arrived_at,
       would_add, would_remove, pending_places,
       written_in::text::bigint as written_in
  from sync_run
 where status is not null;

-- One name has one type in all views. Comments outlive the views.
create temporary table leaf_comment on commit drop as
select attrelid::regclass::text as of_view, attname as of_column, col_description(attrelid, attnum) as text
  from pg_attribute
 where attrelid in ('farewatch.daily_fares'::regclass, 'farewatch.daily_prices'::regclass,
                    'farewatch.prices_by_days_to_departure'::regclass, 'farewatch.daily_route_churn'::regclass)
   and attnum > 0;
drop view farewatch.daily_fares, farewatch.daily_prices, farewatch.prices_by_days_to_departure, farewatch.daily_route_churn;

alter table daily_fares
  alter column residents_adults type smallint,
  alter column residents_children type smallint,
  alter column residents_infants type smallint,
  alter column non_residents_adults type smallint,
  alter column non_residents_children type smallint,
  alter column non_residents_infants type smallint;
create view farewatch.daily_fares as
select day, departure_iata, destination_iata, departure_id, destination_id, days_to_departure, has_return,
       residents_adults, residents_children, residents_infants,
       non_residents_adults, non_residents_children, non_residents_infants,
       fares, bookable, bookable_share, currency, p10, median, p90, written_in::text::bigint as written_in
  from daily_fares;

create view farewatch.daily_prices as
select day, departure_iata, destination_iata, departure_id, destination_id, has_return,
       residents_adults, residents_children, residents_infants,
       non_residents_adults, non_residents_children, non_residents_infants,
       currency, sum(bookable)::integer as fares, round(sum(median * bookable) / sum(bookable), 2) as average_median,
       min(p10) as lowest_p10, max(p90) as highest_p90, written_in::text::bigint as written_in
  from daily_fares
 where median is not null
 group by day, departure_iata, destination_iata, departure_id, destination_id, has_return,
          residents_adults, residents_children, residents_infants,
          non_residents_adults, non_residents_children, non_residents_infants, currency, written_in;

create view farewatch.prices_by_days_to_departure as
select departure_iata, destination_iata, departure_id, destination_id, has_return,
       residents_adults, residents_children, residents_infants,
       non_residents_adults, non_residents_children, non_residents_infants,
       currency, days_to_departure, count(*)::integer as days, sum(bookable)::integer as fares,
       round(sum(median * bookable) / sum(bookable), 2) as average_median, min(p10) as lowest_p10, max(p90) as highest_p90
  from daily_fares
 where median is not null
 group by departure_iata, destination_iata, departure_id, destination_id, has_return,
          residents_adults, residents_children, residents_infants,
          non_residents_adults, non_residents_children, non_residents_infants, currency, days_to_departure;

create view farewatch.daily_route_churn as
with change as materialized (
       select (valid_at at time zone 'UTC')::date as day, kind, renumbered from farewatch.route_changes)
select c.day, c.added, c.removed, c.gained, c.lost, c.places_changed, coalesce(n.places, 0)::integer as places_renumbered,
       c.added_renumbered, c.removed_renumbered
  from (select day,
               (count(*) filter (where kind = 'route_added'))::integer as added,
               (count(*) filter (where kind = 'route_removed'))::integer as removed,
               (count(*) filter (where kind = 'route_gained_availability'))::integer as gained,
               (count(*) filter (where kind = 'route_lost_availability'))::integer as lost,
               (count(*) filter (where kind = 'place_changed'))::integer as places_changed,
               (count(*) filter (where kind = 'route_added' and renumbered))::integer as added_renumbered,
               (count(*) filter (where kind = 'route_removed' and renumbered))::integer as removed_renumbered
          from change
         group by day) c
  left join (select (valid_at at time zone 'UTC')::date as day, count(*) as places
               from farewatch.place_renumberings
              group by day) n on n.day = c.day;
grant select on farewatch.daily_fares, farewatch.daily_prices, farewatch.prices_by_days_to_departure, farewatch.daily_route_churn
   to farewatch_analyst;

do $$
declare
  c record;
begin
  for c in select v.*
             from leaf_comment v
             join pg_attribute a on a.attrelid = v.of_view::regclass and a.attname = v.of_column
            where v.text is not null loop
    execute format('comment on column %s.%I is %L', c.of_view, c.of_column, c.text);
  end loop;
end;
$$;

-- What one row is, and the columns that no two rows have in common. The dictionary, the tests for dbt and a test read them here.
comment on view farewatch.availability_changes is 'Every confirmed change of a tracked fare, once, in the order of seq. One row a record. Key: seq.';
comment on view farewatch.daily_airlines is 'The share of each airline in the tracked fares at the end of each UTC day. Fares whose flight is unknown or had departed are not counted. The route lists name no airlines. One row a day and airline. Key: day, airline.';
comment on view farewatch.daily_country_pairs is 'The network at the end of each UTC day, by country of departure and of destination. One row a day and pair of countries with live routes. Key: day, departure_country, destination_country.';
comment on view farewatch.daily_delays is 'How late changes were recorded, by the UTC day of the record and by kind. A change happened between the last list or check that showed the old state and the first one that did not. So its delay lies between two bounds: from the first that showed it to the record (at_least), and from the last that did not to the record (at_most). Ends of fares are not counted, because the clock finds them. One row a day and kind of change. Key: day, kind.';
comment on view farewatch.daily_fares is 'What was believed of the tracked fares at the end of each UTC day, by route, days to departure and passenger mix. Fares whose flight is unknown, or which had departed or ended, are not counted. One row a day, route, days to departure and passenger mix, one way or with a return flight. Key: day, departure_iata, destination_iata, days_to_departure, has_return, residents_adults, residents_children, residents_infants, non_residents_adults, non_residents_children, non_residents_infants.';
comment on view farewatch.daily_hubs is 'The share of each place in all departures of the network at the end of each UTC day. A place without live routes from it has no row. One row a day and place. Key: day, place_id.';
comment on view farewatch.daily_network is 'The network at the end of each UTC day, by country of departure, and what changed on the day. A country without live routes and changes has no row. One row a day and country of departure. Key: day, departure_country.';
comment on view farewatch.daily_place_degree is 'The number of routes from and to each place at the end of each UTC day. A place without live routes has no row. One row a day and place. Key: day, place_id.';
comment on view farewatch.daily_prices is 'The prices of each route at the end of each UTC day, by passenger mix and currency: the groups of daily_fares over all days to departure. Groups without a price in one currency are not counted. One row a day, route, passenger mix and currency, one way or with a return flight. Key: day, departure_iata, destination_iata, has_return, residents_adults, residents_children, residents_infants, non_residents_adults, non_residents_children, non_residents_infants, currency.';
comment on view farewatch.daily_route_churn is 'Confirmed changes by the UTC day from which on they count: of the list that confirmed them, or of its approval. The routes of the first accepted list are no changes. A day without any has no row. One row a day. Key: day.';
comment on view farewatch.durable_route_history is 'route_history by durable keys: a route whose places were renumbered goes on. Intervals that overlap or touch are coalesced into one. One row an interval, [valid_from, valid_to), of a route. Key: row_key.';
comment on view farewatch.fare_history is 'What was believed of every tracked fare. A check that finds nothing new adds no row, and neither does the end of a fare. One row an interval of belief, [valid_from, valid_to), of a fare. Key: row_key.';
comment on view farewatch.fare_schedule is 'For operators: how often each fare is checked. Not readable by farewatch_analyst, because rates say how many watches a fare has and of which priority. One row a fare that is checked. Key: tracked_fare_id.';
comment on view farewatch.fare_survival is 'Spells of bookability: how long a fare could be bought. One row a spell of a fare. Key: tracked_fare_id, valid_from.';
comment on view farewatch.fares_current is 'What is believed of each tracked fare. One row a tracked fare that was checked. Key: tracked_fare_id.';
comment on view farewatch.history_starts is 'Where each history and feed begins, after farewatch archive has moved older rows to files. One row a view that can be archived. Key: view_name.';
comment on view farewatch.place_history is 'The attributes of each place. One row an interval, [valid_from, valid_to), of a place. Key: row_key.';
comment on view farewatch.place_renumberings is 'Places that a list gave under another id: the same code and country, and more than half of the routes. One row a place and run that gave it in the place of another. Key: place_id, sync_run_id.';
comment on view farewatch.places is 'Every place that a list has shown, with its present attributes and the facts of its airport. One row a place. Key: place_id.';
comment on view farewatch.prices_by_days_to_departure is 'The prices of each route by the days before departure, by passenger mix and currency: the groups of daily_fares over all days that were computed. Groups without a price in one currency are not counted. One row a route, days to departure, passenger mix and currency, one way or with a return flight. Key: departure_iata, destination_iata, departure_id, destination_id, days_to_departure, has_return, residents_adults, residents_children, residents_infants, non_residents_adults, non_residents_children, non_residents_infants, currency.';
comment on view farewatch.route_availability_history is 'When each route was listed as available. No row: not known yet. One row an interval, [valid_from, valid_to), of a route. Key: row_key.';
comment on view farewatch.route_changes is 'Every confirmed change of a route or a place, once, in the order of seq. The first accepted list is the baseline and makes none. One row a record. Key: seq.';
comment on view farewatch.route_history is 'When each route existed. One row an interval, [valid_from, valid_to), of a route. Key: row_key.';
comment on view farewatch.routes_current is 'The live routes, with the attributes of their places. One row a live route. Key: departure_id, destination_id.';
comment on view farewatch.sync_runs is 'What came of each run of a list. One row a finished run. Key: sync_run_id.';
comment on function farewatch.fares_as_of is 'What was believed of each tracked fare at an instant, in the columns of fares_current that the history knows. An ended fare is ended until it is believed of again. Raises an error for an instant before the begin of the histories. One row a tracked fare that was checked by then. Key: tracked_fare_id.';
comment on function farewatch.routes_as_of is 'The routes as they stood at an instant, in the columns of routes_current. The answer for a past instant never changes. One row a route that was live then. Key: departure_id, destination_id.';

comment on column farewatch.fares_current.outbound is 'Belief of the outbound leg: available, unavailable or unknown. Null for an ended fare.';
comment on column farewatch.fares_current.return_leg is 'Belief of the return leg. Null for a one-way question, and for an ended fare.';
comment on column farewatch.fares_current.state is 'bookable (all legs available), not_bookable (any leg unavailable), unknown (else), or ended: the fare has expired, and nothing is believed of it.';
comment on column farewatch.fares_current.expired_at is 'When it ended: it departed, the departs_on of its watches passed, or it was never available for 30 days. Null while it goes on, and once it is watched again.';
comment on column farewatch.fare_history.state is 'State of the pair: bookable, not_bookable or unknown.';
comment on column farewatch.availability_changes.kind is 'first_seen, became_available, became_unavailable, legs_changed, price_changed, itinerary_changed, identity_changed or expired. Of first_seen nothing was believed before: it is no return and no loss.';
comment on column farewatch.availability_changes.belief_before is 'What was believed: pair, legs with their flights, price; priceReason where a bookable fare has no price.';
comment on column farewatch.availability_changes.belief is 'What is believed since, in the same form.';
comment on column farewatch.availability_changes.schema_version is 'Version of the schema of records: 2 added the kind watch_started to the feeds of watches, 3 added reason. The shape of the beliefs is that of 1.';
comment on column farewatch.availability_changes.state is 'State of the pair since, or ended.';
comment on column farewatch.route_changes.attributes_before is 'What held before: {available} of a route, {iata, city, country} of a place; null for route_added.';
comment on column farewatch.route_changes.attributes is 'What holds since, in the same shape; null for route_removed.';
comment on column farewatch.route_changes.last_seen_at is 'Fetch time of the last accepted snapshot that still showed what held before; the change happened after it.';
comment on column farewatch.route_changes.first_missed_at is 'Fetch time of the first accepted snapshot that no longer showed what held before; the change happened by then.';
comment on column farewatch.sync_runs.added is 'Routes that this run added. 0 of a held run, which has would_add. Null of a baseline, whose routes `live` counts.';
comment on column farewatch.sync_runs.gained is 'Routes that became available by this run. Null of a baseline, whose available routes `live` counts.';
comment on column farewatch.daily_prices.average_median is 'The average of the medians of the groups, each weighted by its bookable fares.';
comment on column farewatch.daily_prices.lowest_p10 is 'The smallest p10 of the groups.';
comment on column farewatch.daily_prices.highest_p90 is 'The largest p90 of the groups.';
comment on column farewatch.prices_by_days_to_departure.average_median is 'The average of the medians of these days, each weighted by its bookable fares.';
comment on column farewatch.prices_by_days_to_departure.lowest_p10 is 'The smallest p10 of these days.';
comment on column farewatch.prices_by_days_to_departure.highest_p90 is 'The largest p90 of these days.';
