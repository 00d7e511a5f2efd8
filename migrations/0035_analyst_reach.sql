-- older code: may run
-- Columns by which analysts join fares to routes, find what changed, and see places on a map.
-- Older code records no flights and no bounds of a removal: both stay null until this version writes them.

-- One row for each flight, or pair of flights, that a tracked fare was believed to be.
create table fare_flights (
  id                     bigint    generated always as identity primary key,
  tracked_fare_id        bigint    not null references tracked_fare,
  outbound_from          text,
  outbound_to            text,
  outbound_airline       text,
  outbound_numbers       integer[],
  outbound_departs_local timestamp,
  return_from            text,
  return_to              text,
  return_airline         text,
  return_numbers         integer[],
  return_departs_local   timestamp
);
comment on table fare_flights is 'The flights of a tracked fare, as its state shows them. A change of itinerary or identity adds a row.';
-- Serves the end of a tracked fare.
create index fare_flights_fare on fare_flights (tracked_fare_id);

alter table fare_state add column flights_id bigint references fare_flights;
comment on column fare_state.flights_id is 'The flights of the state; null until an answer shows one.';
alter table fare_belief_version add column flights_id bigint;
comment on column fare_belief_version.flights_id is 'The value of fare_state when the interval ended; null while it holds.';

insert into fare_flights (tracked_fare_id,
                          outbound_from, outbound_to, outbound_airline, outbound_numbers, outbound_departs_local,
                          return_from, return_to, return_airline, return_numbers, return_departs_local)
select s.tracked_fare_id, o."from", o."to", o.airline, o.numbers, o."departsAt", r."from", r."to", r.airline, r.numbers, r."departsAt"
  from fare_state s
 cross join jsonb_to_record(nullif(s.state #> '{outbound,flight}', 'null'))
         as o ("from" text, "to" text, airline text, numbers integer[], "departsAt" timestamp)
 cross join jsonb_to_record(nullif(s.state #> '{return,flight}', 'null'))
         as r ("from" text, "to" text, airline text, numbers integer[], "departsAt" timestamp)
 where o."from" is not null or r."from" is not null;
update fare_state s set flights_id = f.id from fare_flights f where f.tracked_fare_id = s.tracked_fare_id;
-- The flights of an ended interval are known where they never changed.
update fare_belief_version v
   set flights_id = f.id
  from fare_flights f
 where f.tracked_fare_id = v.tracked_fare_id and v.valid_to is not null
   and not exists (select from availability_change c
                    where c.tracked_fare_id = f.tracked_fare_id and c.kind in ('itinerary_changed', 'identity_changed'));

alter table route_version
  add column last_seen_at    timestamptz,
  add column first_missed_at timestamptz;
update route_version v
   set last_seen_at = c.last_seen_at, first_missed_at = c.first_missed_at
  from route_change c
 where c.kind = 'route_removed' and c.sync_run_id = v.removed_by
   and (c.departure_id, c.destination_id) = (v.departure_id, v.destination_id);
-- Serves the routes to a place, and places.last_seen_at.
create index route_version_destination on route_version (destination_id);

-- Private: the place that has a code at present, where exactly one has it.
create view place_of_code as
select iata, case when count(*) = 1 then min(place_id) end as place_id
  from place_version
 where valid_to is null and iata <> ''
 group by iata;

-- Private: the columns of flights that the public views of fares share. PostgreSQL leaves out the joins that a query does not use.
create view shown_flights as
select f.id,
       case when f.outbound_from ~ '^[A-Z]{3}$' then f.outbound_from end as outbound_departure_iata,
       od.place_id as outbound_departure_place_id,
       case when f.outbound_to ~ '^[A-Z]{3}$' then f.outbound_to end as outbound_destination_iata,
       oa.place_id as outbound_destination_place_id,
       f.outbound_airline, f.outbound_numbers as outbound_flight_numbers, f.outbound_departs_local,
       f.outbound_departs_local at time zone oz.zone as outbound_departs_at,
       case when f.return_from ~ '^[A-Z]{3}$' then f.return_from end as return_departure_iata,
       rd.place_id as return_departure_place_id,
       case when f.return_to ~ '^[A-Z]{3}$' then f.return_to end as return_destination_iata,
       ra.place_id as return_destination_place_id,
       f.return_airline, f.return_numbers as return_flight_numbers, f.return_departs_local,
       f.return_departs_local at time zone rz.zone as return_departs_at
  from fare_flights f
  left join place_of_code od on od.iata = f.outbound_from
  left join place_of_code oa on oa.iata = f.outbound_to
  left join airport oz on oz.iata = f.outbound_from
  left join place_of_code rd on rd.iata = f.return_from
  left join place_of_code ra on ra.iata = f.return_to
  left join airport rz on rz.iata = f.return_from;

create or replace view farewatch.availability_current as
select t.id as tracked_fare_id, t.flight_id, t.return_flight_id,
       t.residents_adults, t.residents_children, t.residents_infants,
       t.non_residents_adults, t.non_residents_children, t.non_residents_infants,
       s.outbound, s.return, s.pair,
       case when clock_timestamp() - s.price_checked_at between interval '-10 seconds' and r.fresh_for
            then s.price end as price,
       case when clock_timestamp() - s.price_checked_at between interval '-10 seconds' and r.fresh_for
            then s.currency end as currency,
       case when s.last_good_check_at <= clock_timestamp() + interval '10 seconds'
            then s.last_good_check_at end as last_good_check_at,
       case when s.last_good_check_at <= clock_timestamp() + interval '10 seconds'
            then clock_timestamp() - s.last_good_check_at end as age,
       s.expired_at is null
         and coalesce(clock_timestamp() - s.last_good_check_at
                        not between interval '-10 seconds' and r.fresh_for, true) as stale,
       s.last_check_at, s.last_reason, s.ever_available_at, s.expired_at, t.ended_at, t.created_at,
       case when s.pair = 'bookable' and s.price_checked_at <= clock_timestamp() + interval '10 seconds'
            then s.price_checked_at end as price_checked_at,
       case when s.pair = 'bookable'
            then coalesce(s.price_reason,
                          case when clock_timestamp() - s.price_checked_at between interval '-10 seconds' and r.fresh_for
                               then null else 'stale' end) end as price_reason,
       f.outbound_departure_iata, f.outbound_departure_place_id, f.outbound_destination_iata, f.outbound_destination_place_id,
       f.outbound_airline, f.outbound_flight_numbers, f.outbound_departs_local, f.outbound_departs_at,
       f.return_departure_iata, f.return_departure_place_id, f.return_destination_iata, f.return_destination_place_id,
       f.return_airline, f.return_flight_numbers, f.return_departs_local, f.return_departs_at
  from tracked_fare t
  join fare_state s on s.tracked_fare_id = t.id
 cross join recheck_clock c
 cross join lateral (select greatest(
                              interval '1 hour',
                              6 * greatest(make_interval(secs => coalesce(t.min_interval_seconds, 0)),
                                           c.expected_interval)) as fresh_for) r
  left join shown_flights f on f.id = s.flights_id;
comment on column farewatch.availability_current.outbound_departure_iata is 'Airport code of the departure of the outbound flight. Null where no answer has shown the flight, or it has no code.';
comment on column farewatch.availability_current.outbound_departure_place_id is 'The place with this code in the present route lists: joins departure_id of routes. Null where no place or several places have it.';
comment on column farewatch.availability_current.outbound_destination_iata is 'Airport code of the destination of the outbound flight.';
comment on column farewatch.availability_current.outbound_destination_place_id is 'The place with this code in the present route lists: joins destination_id of routes. Null where no place or several places have it.';
comment on column farewatch.availability_current.outbound_airline is 'Name of the airline, or its code where it has no name.';
comment on column farewatch.availability_current.outbound_flight_numbers is 'Flight numbers, one a segment.';
comment on column farewatch.availability_current.outbound_departs_local is 'Local time of the departure, without a zone.';
comment on column farewatch.availability_current.outbound_departs_at is 'The same as an instant; null where the time zone of the airport is unknown.';
comment on column farewatch.availability_current.return_departure_iata is 'Airport code of the departure of the return flight. Null where no answer has shown the flight, or it has no code.';
comment on column farewatch.availability_current.return_departure_place_id is 'The place with this code in the present route lists: joins departure_id of routes. Null where no place or several places have it.';
comment on column farewatch.availability_current.return_destination_iata is 'Airport code of the destination of the return flight.';
comment on column farewatch.availability_current.return_destination_place_id is 'The place with this code in the present route lists: joins destination_id of routes. Null where no place or several places have it.';
comment on column farewatch.availability_current.return_airline is 'Name of the airline, or its code where it has no name.';
comment on column farewatch.availability_current.return_flight_numbers is 'Flight numbers, one a segment.';
comment on column farewatch.availability_current.return_departs_local is 'Local time of the departure, without a zone.';
comment on column farewatch.availability_current.return_departs_at is 'The same as an instant; null where the time zone of the airport is unknown.';

create or replace view farewatch.availability_history as
select v.tracked_fare_id, v.outbound, v.return, v.pair, v.price, v.currency, v.valid_from, v.valid_to,
       coalesce(v.price_checked_at, s.price_checked_at) as price_checked_at,
       coalesce(v.price_reason, s.price_reason) as price_reason,
       t.flight_id, t.return_flight_id,
       t.residents_adults,
       t.residents_children,
       t.residents_infants,
       t.non_residents_adults,
       t.non_residents_children,
       t.non_residents_infants,
       f.outbound_departure_iata, f.outbound_departure_place_id, f.outbound_destination_iata, f.outbound_destination_place_id,
       f.outbound_airline, f.outbound_flight_numbers, f.outbound_departs_local, f.outbound_departs_at,
       f.return_departure_iata, f.return_departure_place_id, f.return_destination_iata, f.return_destination_place_id,
       f.return_airline, f.return_flight_numbers, f.return_departs_local, f.return_departs_at
  from fare_belief_version v
  left join fare_state s on s.tracked_fare_id = v.tracked_fare_id and v.valid_to is null
  left join tracked_fare t on t.id = v.tracked_fare_id
  left join shown_flights f on f.id = coalesce(v.flights_id, s.flights_id);
comment on column farewatch.availability_history.flight_id is 'The outbound flight, as the upstream names it.';
comment on column farewatch.availability_history.return_flight_id is 'The return flight; null for a one-way question.';
comment on column farewatch.availability_history.residents_adults is 'Resident adults of the passenger mix.';
comment on column farewatch.availability_history.residents_children is 'Resident children.';
comment on column farewatch.availability_history.residents_infants is 'Resident infants.';
comment on column farewatch.availability_history.non_residents_adults is 'Non-resident adults.';
comment on column farewatch.availability_history.non_residents_children is 'Non-resident children.';
comment on column farewatch.availability_history.non_residents_infants is 'Non-resident infants.';
comment on column farewatch.availability_history.outbound_departure_iata is 'Airport code of the departure of the outbound flight, at the end of the interval. Null where no answer has shown the flight, or it has no code.';
comment on column farewatch.availability_history.outbound_departure_place_id is 'The place with this code in the present route lists: joins departure_id of routes. Null where no place or several places have it.';
comment on column farewatch.availability_history.outbound_destination_iata is 'Airport code of the destination of the outbound flight.';
comment on column farewatch.availability_history.outbound_destination_place_id is 'The place with this code in the present route lists: joins destination_id of routes. Null where no place or several places have it.';
comment on column farewatch.availability_history.outbound_airline is 'Name of the airline, or its code where it has no name.';
comment on column farewatch.availability_history.outbound_flight_numbers is 'Flight numbers, one a segment.';
comment on column farewatch.availability_history.outbound_departs_local is 'Local time of the departure, without a zone.';
comment on column farewatch.availability_history.outbound_departs_at is 'The same as an instant; null where the time zone of the airport is unknown.';
comment on column farewatch.availability_history.return_departure_iata is 'Airport code of the departure of the return flight, at the end of the interval. Null where no answer has shown the flight, or it has no code.';
comment on column farewatch.availability_history.return_departure_place_id is 'The place with this code in the present route lists: joins departure_id of routes. Null where no place or several places have it.';
comment on column farewatch.availability_history.return_destination_iata is 'Airport code of the destination of the return flight.';
comment on column farewatch.availability_history.return_destination_place_id is 'The place with this code in the present route lists: joins destination_id of routes. Null where no place or several places have it.';
comment on column farewatch.availability_history.return_airline is 'Name of the airline, or its code where it has no name.';
comment on column farewatch.availability_history.return_flight_numbers is 'Flight numbers, one a segment.';
comment on column farewatch.availability_history.return_departs_local is 'Local time of the departure, without a zone.';
comment on column farewatch.availability_history.return_departs_at is 'The same as an instant; null where the time zone of the airport is unknown.';

create or replace view farewatch.route_history as
select v.departure_id, v.destination_id, v.valid_from, v.valid_to,
       v.last_seen_at, v.first_missed_at, v.added_by as added_run_id, v.removed_by as removed_run_id,
       v.valid_to is null as is_current, r.finished_at as changed_at
  from route_version v
  left join sync_run r on r.id = coalesce(v.removed_by, v.added_by);
comment on column farewatch.route_history.last_seen_at is 'Fetch time of the last accepted list that showed the route, where it was removed: it ended after that. Null while it is live.';
comment on column farewatch.route_history.first_missed_at is 'Fetch time of the first accepted list without the route, where it was removed: it had ended by then.';
comment on column farewatch.route_history.added_run_id is 'The run that added the route.';
comment on column farewatch.route_history.removed_run_id is 'The run that confirmed its removal; null while it is live.';
comment on column farewatch.route_history.is_current is 'Whether the interval still holds.';
comment on column farewatch.route_history.changed_at is 'When the row was written last: at the beginning of the interval, and again at its end. An extraction reads what has a later value than the largest one that it has.';

create or replace view farewatch.route_changes as
select c.seq, c.id, c.kind, c.departure_id, c.destination_id, c.place_id, c.before, c.after,
       c.last_seen_at, c.first_missed_at, c.recorded_at, c.sync_run_id,
       r.fetched_at as valid_at,
       (select p.iata from place_version p
         where p.place_id = c.departure_id and p.valid_from <= r.fetched_at and (p.valid_to > r.fetched_at or p.valid_to is null)) as departure_iata,
       (select p.city from place_version p
         where p.place_id = c.departure_id and p.valid_from <= r.fetched_at and (p.valid_to > r.fetched_at or p.valid_to is null)) as departure_city,
       (select p.country from place_version p
         where p.place_id = c.departure_id and p.valid_from <= r.fetched_at and (p.valid_to > r.fetched_at or p.valid_to is null)) as departure_country,
       (select p.iata from place_version p
         where p.place_id = c.destination_id and p.valid_from <= r.fetched_at and (p.valid_to > r.fetched_at or p.valid_to is null)) as destination_iata,
       (select p.city from place_version p
         where p.place_id = c.destination_id and p.valid_from <= r.fetched_at and (p.valid_to > r.fetched_at or p.valid_to is null)) as destination_city,
       (select p.country from place_version p
         where p.place_id = c.destination_id and p.valid_from <= r.fetched_at and (p.valid_to > r.fetched_at or p.valid_to is null)) as destination_country
  from route_change c
  left join sync_run r on r.id = c.sync_run_id;
comment on column farewatch.route_changes.valid_at is 'The instant from which on the change counts: the bound of the interval that it opens or closes.';
comment on column farewatch.route_changes.departure_iata is 'Airport code of the departure place at valid_at; may be empty. Null for place_changed.';
comment on column farewatch.route_changes.departure_city is 'City of the departure place at valid_at; may be empty.';
comment on column farewatch.route_changes.departure_country is 'Country of the departure place at valid_at; may be empty.';
comment on column farewatch.route_changes.destination_iata is 'Airport code of the destination place at valid_at; may be empty. Null for place_changed.';
comment on column farewatch.route_changes.destination_city is 'City of the destination place at valid_at; may be empty.';
comment on column farewatch.route_changes.destination_country is 'Country of the destination place at valid_at; may be empty.';

create view farewatch.places as
select p.place_id, p.iata, p.city, p.country,
       a.country as iso_country, a.continent, a.latitude, a.longitude, a.zone,
       (select min(v.valid_from) from place_version v where v.place_id = p.place_id) as first_seen_at,
       case when exists (select from route_version v where v.departure_id = p.place_id and v.valid_to is null)
              or exists (select from route_version v where v.destination_id = p.place_id and v.valid_to is null)
            then (select max(r.arrived_at) from farewatch.sync_runs r
                   where r.list = 'routes' and r.status in ('applied', 'unchanged', 'approved'))
            else greatest((select max(v.last_seen_at) from route_version v where v.departure_id = p.place_id),
                          (select max(v.last_seen_at) from route_version v where v.destination_id = p.place_id))
       end as last_seen_at
  from place_version p
  left join airport a on a.iata = upper(p.iata)
 where p.valid_to is null;
comment on view farewatch.places is 'Every place that a list has shown, with its present attributes and the facts of its airport.';
comment on column farewatch.places.place_id is 'Identity of the place.';
comment on column farewatch.places.iata is 'Airport code; empty where the upstream gives none.';
comment on column farewatch.places.city is 'City, as the upstream names it; may be empty.';
comment on column farewatch.places.country is 'Country, as the upstream names it; may be empty.';
comment on column farewatch.places.iso_country is 'Country of the airport with this code, ISO 3166-1 alpha-2. This and the next four columns are null where the code is unknown.';
comment on column farewatch.places.continent is 'AF, AN, AS, EU, NA, OC or SA.';
comment on column farewatch.places.latitude is 'Degrees north.';
comment on column farewatch.places.longitude is 'Degrees east.';
comment on column farewatch.places.zone is 'Time zone, by its IANA name.';
comment on column farewatch.places.first_seen_at is 'When the first list was fetched that showed the place.';
comment on column farewatch.places.last_seen_at is 'When the last accepted list arrived that showed a route of the place. While a route of it is live, that is the last accepted list.';

create function farewatch.route_distance_km(departure text, destination text)
returns double precision
language sql stable strict parallel safe
begin atomic
  -- The haversine formula with the mean radius of the earth.
  select 2 * 6371.0088 * asin(sqrt(least(1,
           sin(radians(a.latitude - d.latitude) / 2) ^ 2
             + cos(radians(d.latitude)) * cos(radians(a.latitude)) * sin(radians(a.longitude - d.longitude) / 2) ^ 2)))
    from farewatch.places d, farewatch.places a
   where d.place_id = departure and a.place_id = destination
     and d.latitude is not null and a.latitude is not null;
end;
comment on function farewatch.route_distance_km(text, text) is 'Great-circle distance between two places, by their ids, in kilometres. Null where the position of either is unknown.';

grant select on farewatch.places to farewatch_analyst;
