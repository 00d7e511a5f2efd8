-- older code: may run
-- The place of each airport code as a table, so that the flights of one fare are looked up by an index.
-- Answers behind changes can be deleted. Older code does not keep the table up to date: it is stale until this version sees another place.

create table place_code (
  iata     text primary key,
  -- Null where several places have the code.
  place_id text
);
comment on table place_code is 'The place that has an airport code in the present route lists.';
insert into place_code select iata, place_id from place_of_code;

create or replace view shown_flights as
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
  left join place_code od on od.iata = f.outbound_from
  left join place_code oa on oa.iata = f.outbound_to
  left join airport oz on oz.iata = f.outbound_from
  left join place_code rd on rd.iata = f.return_from
  left join place_code ra on ra.iata = f.return_to
  left join airport rz on rz.iata = f.return_from;

drop view place_of_code;

-- The answer behind a change may be deleted once it is old: the change keeps its hash.
alter table availability_change drop constraint availability_change_evidence_hash_fkey;
-- Serves the deletion of old answers.
create index evidence_created on evidence (created_at);
-- Serves the deletion of fares that nobody watches.
create index tracked_fare_ended on tracked_fare (ended_at) where ended_at is not null;

alter table daily_rollup add column database_bytes bigint;
comment on column daily_rollup.database_bytes is 'The size of the database when the day was computed: the growth of the database follows from it.';
