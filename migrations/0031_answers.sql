-- older code: may run
-- Which answers count: what answers usually have, when the last one about a fare was made, and where they contradict our zones.

create table answer_habit (
  name          text             collate "C" primary key,
  answers       bigint           not null default 0,
  share         double precision not null default 0,
  most_since    timestamptz,
  first_seen_at timestamptz      not null default clock_timestamp(),
  last_seen_at  timestamptz      not null default clock_timestamp(),
  accepted_at   timestamptz
);
comment on table answer_habit is 'Members of answers that the interface does not have, and total_unlike_sum for totals that are not the sum of their passengers. Such answers count once that is usual.';
comment on column answer_habit.answers is 'How many answers have had it.';
comment on column answer_habit.share is 'Its share of about the last hundred answers that agree with a belief; of totals, of the answers that show a price.';
comment on column answer_habit.most_since is 'Since when most of them have it; null where most do not. It is usual after a day.';
comment on column answer_habit.accepted_at is 'When an operator accepted it; null where none did.';

alter table fare_state add dated_at timestamptz;
comment on column fare_state.dated_at is 'The last Date of a counted answer. A later answer with the same one is a copy.';

alter table fare_flights add outbound_departs_by timestamptz, add return_departs_by timestamptz;
comment on column fare_flights.outbound_departs_by is 'The latest departure, where the answer contradicts our time zones; null where it does not.';
comment on column fare_flights.return_departs_by is 'The same of the return flight.';

create or replace view shown_flights as
select f.id,
       case when f.outbound_from ~ '^[A-Z]{3}$' then f.outbound_from end as outbound_departure_iata,
       od.place_id as outbound_departure_id,
       case when f.outbound_to ~ '^[A-Z]{3}$' then f.outbound_to end as outbound_destination_iata,
       oa.place_id as outbound_destination_id,
       f.outbound_airline, f.outbound_numbers as outbound_flight_numbers, f.outbound_departs_local,
       case when f.outbound_departs_by is null then f.outbound_departs_local at time zone oz.zone end as outbound_departs_at,
       case when f.return_from ~ '^[A-Z]{3}$' then f.return_from end as return_departure_iata,
       rd.place_id as return_departure_id,
       case when f.return_to ~ '^[A-Z]{3}$' then f.return_to end as return_destination_iata,
       ra.place_id as return_destination_id,
       f.return_airline, f.return_numbers as return_flight_numbers, f.return_departs_local,
       case when f.return_departs_by is null then f.return_departs_local at time zone rz.zone end as return_departs_at
  from fare_flights f
  left join place_code od on od.iata = f.outbound_from
  left join place_code oa on oa.iata = f.outbound_to
  left join airport oz on oz.iata = f.outbound_from
  left join place_code rd on rd.iata = f.return_from
  left join place_code ra on ra.iata = f.return_to
  left join airport rz on rz.iata = f.return_from;
comment on column farewatch.fares_current.outbound_departs_at is 'The same as an instant; null where the time zone of the airport is unknown, or contradicts the answer.';
comment on column farewatch.fares_current.return_departs_at is 'The same as an instant; null where the time zone of the airport is unknown, or contradicts the answer.';
comment on column farewatch.fare_history.outbound_departs_at is 'The same as an instant; null where the time zone of the airport is unknown, or contradicts the answer.';
comment on column farewatch.fare_history.return_departs_at is 'The same as an instant; null where the time zone of the airport is unknown, or contradicts the answer.';
