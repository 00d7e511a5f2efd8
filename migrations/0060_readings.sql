-- older code: must stop
-- A belief is one reading, adopted whole. What contradicts it is a candidate, and a mass holds a candidate for a time.

-- The instants of a state are columns alone; a check that finds nothing new leaves the JSON as it is.
create function pg_temp.leg_view(leg jsonb, bookable boolean) returns jsonb language sql immutable as $$
  select case when jsonb_typeof(leg) = 'object' then jsonb_build_object(
    'belief', leg -> 'belief',
    'price', case when bookable then leg -> 'price' end,
    'identity', case when leg ->> 'belief' = 'available' then leg -> 'identity' end,
    'itinerary', case when leg ->> 'belief' = 'available' then leg -> 'itinerary' end,
    'flight', case when leg ->> 'belief' = 'available' then leg -> 'flight' end) end
$$;
create function pg_temp.last_flight(leg jsonb) returns jsonb language sql immutable as $$
  select case when leg ->> 'belief' <> 'available' then nullif(leg -> 'flight', 'null') end
$$;

alter table fare_state
  add column contradicted_since timestamptz,
  add column held_since timestamptz,
  add column hidden text check (hidden in ('held', 'identity_mismatch', 'reverted'));
comment on column fare_state.contradicted_since is 'When the first answer began that contradicts the belief, without one since that agreed; null where none does.';
comment on column fare_state.held_since is 'Since when a mass holds the change that the answers show; null where none does.';
comment on column fare_state.hidden is 'Why the belief is not shown, its age apart; null where it is.';
comment on column fare_state.held is 'The kind of change that the last contradiction would have made, had no mass held it.';
comment on column fare_state.state is 'The belief, the candidate that contradicts it, and what the last records have replaced, as decide() takes and returns them. {} before the first check.';

-- Serves what waits: few fares do.
drop index fare_state_held;
create index fare_state_held on fare_state (held_since) where held_since is not null;

-- Candidates begin again with the next answer: their fares are due in the lane of confirmations already.
update fare_state
   set held = '{}',
       state = jsonb_build_object(
         'belief', jsonb_build_object(
           'pair', pair,
           'outbound', pg_temp.leg_view(state -> 'outbound', pair = 'bookable'),
           'return', pg_temp.leg_view(state -> 'return', pair = 'bookable'),
           'price', case when pair = 'bookable' and price is not null
                         then jsonb_build_object('amount', price::text, 'currency', currency) end),
         'lastFlights', jsonb_build_object(
           'outbound', pg_temp.last_flight(state -> 'outbound'),
           'return', pg_temp.last_flight(state -> 'return')),
         'candidate', null, 'holds', jsonb_build_object(), 'held', null, 'replaced', jsonb_build_array(), 'reverted', false)
 where state <> '{}' and expired_at is null;
-- Nothing is read of the state of a fare that has ended, except its flights.
update fare_state
   set held = '{}',
       state = jsonb_build_object(
         'belief', jsonb_build_object(
           'pair', 'not_bookable',
           'outbound', pg_temp.leg_view(jsonb_build_object('belief', 'unavailable'), false),
           'return', case when return is not null
                          then pg_temp.leg_view(jsonb_build_object('belief', 'unavailable'), false) end,
           'price', null),
         'lastFlights', jsonb_build_object('outbound', state #> '{outbound,flight}', 'return', state #> '{return,flight}'),
         'candidate', null, 'holds', jsonb_build_object(), 'held', null, 'replaced', jsonb_build_array(), 'reverted', false)
 where state <> '{}' and expired_at is not null;
drop function pg_temp.leg_view(jsonb, boolean);
drop function pg_temp.last_flight(jsonb);

alter table fare_state drop constraint fare_state_price_reason_check;
alter table fare_state add constraint fare_state_price_reason_check
  check (price_reason in ('unreadable', 'unconfirmed', 'mixed_currencies', 'held'));
alter table availability_change add column held_since timestamptz;

-- Closed by an operator: what waited then is asked once more. Acceptances of later changes are gone.
alter table incident drop constraint incident_kind_check;
alter table incident add constraint incident_kind_check check
  (kind in ('mass_loss', 'mass_gain', 'mass_identity_change', 'mass_itinerary_change', 'mass_price_change', 'mass_expiry',
            'upstream_trouble'));
update incident set detail = detail - 'accepted';
comment on column incident.detail is 'closedBy: operator, where one closed it: changes that were held before closed_at are recorded with the next answer that shows them.';

-- What the last answers showed of each flight, for the guard of masses. After a crash of the server it begins empty.
create unlogged table asked_flight (
  seq          bigint      generated always as identity primary key,
  flight_id    text        not null,
  -- Whether the flight was believed available: then it can be lost or change, else it can be gained.
  is_available boolean     not null,
  -- The kind of change that the answer would make; null where it shows what is believed.
  shows        text,
  fare_id      bigint      not null,
  asked_at     timestamptz not null default clock_timestamp()
);
-- Serves the last hundred flights.
create index asked_flight_last on asked_flight (is_available, seq);
comment on table asked_flight is 'Legs that checks have shown in the last minutes, by flight. Not logged: the guard of masses needs the last hundred alone.';


create or replace view farewatch.availability_changes as
select seq, id, kind, tracked_fare_id, before, after, last_good_check_at, detected_at, recorded_at, schema_version, reason, held_since
  from availability_change;
comment on column farewatch.availability_changes.held_since is 'Since when a mass of such changes held it; null if none did. Its delay is from last_good_check_at to recorded_at.';

create or replace view farewatch.availability_current as
select t.id as tracked_fare_id, t.flight_id, t.return_flight_id,
       t.residents_adults, t.residents_children, t.residents_infants,
       t.non_residents_adults, t.non_residents_children, t.non_residents_infants,
       case when s.hidden is null then s.outbound else 'unknown' end as outbound,
       case when s.hidden is null or s.return is null then s.return else 'unknown' end as return,
       case when s.hidden is null then s.pair else 'unknown' end as pair,
       case when p.is_shown then s.price end as price,
       case when p.is_shown then s.currency end as currency,
       case when s.last_good_check_at <= clock_timestamp() + interval '10 seconds'
            then s.last_good_check_at end as last_good_check_at,
       case when s.last_good_check_at <= clock_timestamp() + interval '10 seconds'
            then clock_timestamp() - s.last_good_check_at end as age,
       s.expired_at is null
         and coalesce(clock_timestamp() - s.last_good_check_at
                        not between interval '-10 seconds' and r.fresh_for, true) as stale,
       s.last_check_at, s.last_reason, s.ever_available_at, s.expired_at, t.ended_at, t.created_at,
       case when s.hidden is null and s.pair = 'bookable' and s.price_checked_at <= clock_timestamp() + interval '10 seconds'
            then s.price_checked_at end as price_checked_at,
       case when s.hidden is null and s.pair = 'bookable'
            then coalesce(s.price_reason, case when p.is_fresh then null else 'stale' end) end as price_reason,
       f.outbound_departure_iata, f.outbound_departure_place_id, f.outbound_destination_iata, f.outbound_destination_place_id,
       f.outbound_airline, f.outbound_flight_numbers, f.outbound_departs_local, f.outbound_departs_at,
       f.return_departure_iata, f.return_departure_place_id, f.return_destination_iata, f.return_destination_place_id,
       f.return_airline, f.return_flight_numbers, f.return_departs_local, f.return_departs_at,
       s.hidden as hidden_reason, s.contradicted_since, s.held_since
  from tracked_fare t
  join fare_state s on s.tracked_fare_id = t.id
 cross join recheck_clock c
 cross join lateral (select greatest(
                              interval '1 hour',
                              6 * greatest(make_interval(secs => coalesce(t.min_interval_seconds, 0)),
                                           c.expected_interval)) as fresh_for) r
 cross join lateral (select coalesce(clock_timestamp() - s.price_checked_at between interval '-10 seconds' and r.fresh_for, false)
                              as is_fresh) a
 cross join lateral (select a.is_fresh,
                            a.is_fresh and s.hidden is null and s.price_reason is distinct from 'held' as is_shown) p
  left join shown_flights f on f.id = s.flights_id;
comment on column farewatch.availability_current.hidden_reason is 'Why outbound, return and pair are shown as unknown although a belief is held beneath: held (a mass of such changes waits), identity_mismatch (the answers show another flight), reverted (an operator has reverted its records). Null otherwise; stale is a column of its own.';
comment on column farewatch.availability_current.contradicted_since is 'When the first answer began that contradicts the belief, without one since that agreed; null where none does.';
comment on column farewatch.availability_current.held_since is 'Since when a mass of such changes holds what the answers show; null where none does. Every hold ends by itself.';
comment on column farewatch.availability_current.last_good_check_at is 'When the last good check began: one that agreed in availability, identity and itinerary. The price has its own age.';
