-- older code: must stop
-- One word for one thing in the public SQL. The changelog lists the old and the new names.

-- Views of fares are named as those of routes. A name with "availability" means the availability of routes, or its changes.
alter view farewatch.availability_history rename to fare_history;
alter view farewatch.route_churn_daily rename to daily_route_churn;

-- A fare without a return flight has no pair.
alter view farewatch.fare_history rename column pair to state;
-- A place with a role is named by the role, as in the views of routes.
alter view farewatch.fare_history rename column outbound_departure_place_id to outbound_departure_id;
alter view farewatch.fare_history rename column outbound_destination_place_id to outbound_destination_id;
alter view farewatch.fare_history rename column return_departure_place_id to return_departure_id;
alter view farewatch.fare_history rename column return_destination_place_id to return_destination_id;
alter table daily_fares rename column departure_place_id to departure_id;
alter table daily_fares rename column destination_place_id to destination_id;
alter view farewatch.daily_fares rename column departure_place_id to departure_id;
alter view farewatch.daily_fares rename column destination_place_id to destination_id;
alter table daily_network rename column country to departure_country;
alter view farewatch.daily_network rename column country to departure_country;

-- Of an approved run this is the instant of the approval. When the list was fetched is arrived_at.
alter view farewatch.sync_runs rename column fetched_at to valid_at;

-- Every interval of valid time begins with valid_from.
alter view farewatch.routes_current rename column since to valid_from;
drop function farewatch.routes_as_of(timestamptz);
drop function farewatch.assert_kept(timestamptz);
drop view farewatch.floors;
create view farewatch.history_starts as
select n.view_name, case when coalesce(h.first_seq, 2) > 1 then a.complete_from end as complete_from, h.first_seq
  from (values ('route_history', null), ('route_availability_history', null), ('fare_history', null),
               ('route_changes', 'route'), ('availability_changes', 'availability')) n (view_name, feed)
  left join feed_head h on h.feed = n.feed
 cross join (select max(before) as complete_from from archive where applied_at is not null) a;
comment on view farewatch.history_starts is 'Where each history and feed begins, after farewatch archive has moved older rows to files.';
comment on column farewatch.history_starts.view_name is 'The view that it is about.';
comment on column farewatch.history_starts.complete_from is 'The view is complete for every instant since then. Null: nothing of it is archived.';
comment on column farewatch.history_starts.first_seq is 'Of a feed, the first number that it still has. Null for a history.';

create function farewatch.assert_kept(instant timestamptz)
returns boolean
language plpgsql stable parallel safe
as $$
declare
  begin_of_history timestamptz := (select complete_from from farewatch.history_starts where view_name = 'route_history');
begin
  if instant < begin_of_history then
    raise exception 'the history before % is archived', to_char(begin_of_history at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')
      using errcode = 'invalid_parameter_value', hint = 'Ask for a later instant, or read the files of the archive.';
  end if;
  return true;
end;
$$;
comment on function farewatch.assert_kept is 'True. Raises an error for an instant before the begin of the histories.';

-- Ranges give the planner bounds and lengths, so that it knows how many intervals hold an instant. The availability of a
-- route is a subquery, which PostgreSQL leaves out where a query does not use it. The last condition has no column: it is
-- checked once, before any row is read.
create function farewatch.routes_as_of(instant timestamptz)
returns table (
  departure_id text, departure_iata text, departure_city text, departure_country text,
  destination_id text, destination_iata text, destination_city text, destination_country text,
  valid_from timestamptz, available boolean
)
language sql stable parallel safe
begin atomic
  select r.departure_id, d.iata, d.city, d.country,
         r.destination_id, a.iata, a.city, a.country,
         r.valid_from,
         (select v.available
            from farewatch.route_availability_history v
           where (v.departure_id, v.destination_id) = (r.departure_id, r.destination_id)
             and v.valid_from <= instant and (v.valid_to is null or v.valid_to > instant))
    from farewatch.route_history r
    join farewatch.place_history d
      on d.place_id = r.departure_id and tstzrange(d.valid_from, d.valid_to) @> instant
    join farewatch.place_history a
      on a.place_id = r.destination_id and tstzrange(a.valid_from, a.valid_to) @> instant
   where tstzrange(r.valid_from, r.valid_to) @> instant
     and farewatch.assert_kept(instant);
end;
comment on function farewatch.routes_as_of(timestamptz) is 'The routes as they stood at an instant, in the columns of routes_current. The answer for a past instant never changes.';

-- No interval is left in the public SQL: durations are seconds, which every format of an export can hold.
drop view farewatch.availability_current;
create view farewatch.fares_current as
select t.id as tracked_fare_id, t.flight_id, t.return_flight_id,
       t.residents_adults, t.residents_children, t.residents_infants,
       t.non_residents_adults, t.non_residents_children, t.non_residents_infants,
       case when s.hidden is null then s.outbound else 'unknown' end as outbound,
       case when s.hidden is null or s.return is null then s.return else 'unknown' end as return,
       case when s.hidden is null then s.pair else 'unknown' end as state,
       case when p.is_shown then s.price end as price,
       case when p.is_shown then s.currency end as currency,
       case when s.last_good_check_at <= clock_timestamp() + interval '10 seconds'
            then s.last_good_check_at end as last_good_check_at,
       case when s.last_good_check_at <= clock_timestamp() + interval '10 seconds'
            then extract(epoch from clock_timestamp() - s.last_good_check_at)::double precision end as age_seconds,
       s.expired_at is null
         and coalesce(clock_timestamp() - s.last_good_check_at
                        not between interval '-10 seconds' and r.fresh_for, true) as stale,
       s.last_check_at, s.last_reason, s.ever_available_at as first_bookable_at, s.expired_at,
       t.ended_at as last_watch_ended_at, t.created_at,
       case when s.hidden is null and s.pair = 'bookable' and s.price_checked_at <= clock_timestamp() + interval '10 seconds'
            then s.price_checked_at end as price_checked_at,
       case when s.hidden is null and s.pair = 'bookable'
            then coalesce(s.price_reason, case when p.is_fresh then null else 'stale' end) end as price_reason,
       f.outbound_departure_iata, f.outbound_departure_place_id as outbound_departure_id,
       f.outbound_destination_iata, f.outbound_destination_place_id as outbound_destination_id,
       f.outbound_airline, f.outbound_flight_numbers, f.outbound_departs_local, f.outbound_departs_at,
       f.return_departure_iata, f.return_departure_place_id as return_departure_id,
       f.return_destination_iata, f.return_destination_place_id as return_destination_id,
       f.return_airline, f.return_flight_numbers, f.return_departs_local, f.return_departs_at,
       s.hidden as hidden_reason, s.contradicted_since, s.held_since
  from tracked_fare t
  join fare_state s on s.tracked_fare_id = t.id
  left join fare_schedule q on q.tracked_fare_id = t.id
 cross join lateral (select fresh_for(q.rate) as fresh_for) r
 cross join lateral (select coalesce(clock_timestamp() - s.price_checked_at between interval '-10 seconds' and r.fresh_for, false)
                              as is_fresh) a
 cross join lateral (select a.is_fresh,
                            a.is_fresh and s.hidden is null and s.price_reason is distinct from 'held' as is_shown) p
  left join shown_flights f on f.id = s.flights_id;
comment on view farewatch.fares_current is 'One row a tracked fare that was checked: what is believed of it.';
comment on column farewatch.fares_current.tracked_fare_id is 'The question: equal questions of all watch lists are one fare.';
comment on column farewatch.fares_current.flight_id is 'The outbound flight, as the upstream names it.';
comment on column farewatch.fares_current.return_flight_id is 'The return flight; null for a one-way question.';
comment on column farewatch.fares_current.residents_adults is 'Resident adults of the passenger mix.';
comment on column farewatch.fares_current.residents_children is 'Resident children.';
comment on column farewatch.fares_current.residents_infants is 'Resident infants.';
comment on column farewatch.fares_current.non_residents_adults is 'Non-resident adults.';
comment on column farewatch.fares_current.non_residents_children is 'Non-resident children.';
comment on column farewatch.fares_current.non_residents_infants is 'Non-resident infants.';
comment on column farewatch.fares_current.outbound is 'Belief of the outbound leg: available, unavailable or unknown.';
comment on column farewatch.fares_current.return is 'Belief of the return leg; null for a one-way question.';
comment on column farewatch.fares_current.state is 'bookable (all legs available), not_bookable (any leg unavailable, or the fare has expired), unknown (else).';
comment on column farewatch.fares_current.price is 'Sum of the legs'' totals for the passenger mix; null unless in one currency, and where no check showed it for as long as makes a belief stale.';
comment on column farewatch.fares_current.currency is 'Currency of the price.';
comment on column farewatch.fares_current.last_good_check_at is 'When the last good check began: one that agreed in availability, identity and itinerary. The price has its own age.';
comment on column farewatch.fares_current.age_seconds is 'Seconds since then.';
comment on column farewatch.fares_current.stale is 'Whether the belief is too old to be shown as known: no good check for an hour, or for six of its expected intervals.';
comment on column farewatch.fares_current.last_check_at is 'When the last check was recorded, good or not.';
comment on column farewatch.fares_current.last_reason is 'Why the last check did not show the state of a leg; null where it did.';
comment on column farewatch.fares_current.first_bookable_at is 'When the first check began that made it bookable.';
comment on column farewatch.fares_current.expired_at is 'When it ended: departed, or never available for 30 days.';
comment on column farewatch.fares_current.last_watch_ended_at is 'When its last watch ended; checks stop, history stays.';
comment on column farewatch.fares_current.created_at is 'When it was first watched.';
comment on column farewatch.fares_current.price_checked_at is 'When the last check began that showed the price of each leg. Null unless the pair is bookable.';
comment on column farewatch.fares_current.price_reason is 'Why the last answers did not show the price of a bookable pair: unreadable, unconfirmed (another currency, or a change by more than half, seen once), mixed_currencies (of the legs); stale where there were none. Null where they did.';
comment on column farewatch.fares_current.outbound_departure_iata is 'Airport code of the departure of the outbound flight. Null where no answer has shown the flight, or it has no code.';
comment on column farewatch.fares_current.outbound_departure_id is 'The place with this code in the present route lists: joins departure_id of routes. Null where no place or several places have it.';
comment on column farewatch.fares_current.outbound_destination_iata is 'Airport code of the destination of the outbound flight.';
comment on column farewatch.fares_current.outbound_destination_id is 'The place with this code in the present route lists: joins destination_id of routes. Null where no place or several places have it.';
comment on column farewatch.fares_current.outbound_airline is 'Name of the airline, or its code where it has no name.';
comment on column farewatch.fares_current.outbound_flight_numbers is 'Flight numbers, one a segment.';
comment on column farewatch.fares_current.outbound_departs_local is 'Local time of the departure, without a zone.';
comment on column farewatch.fares_current.outbound_departs_at is 'The same as an instant; null where the time zone of the airport is unknown.';
comment on column farewatch.fares_current.return_departure_iata is 'Airport code of the departure of the return flight. Null where no answer has shown the flight, or it has no code.';
comment on column farewatch.fares_current.return_departure_id is 'The place with this code in the present route lists: joins departure_id of routes. Null where no place or several places have it.';
comment on column farewatch.fares_current.return_destination_iata is 'Airport code of the destination of the return flight.';
comment on column farewatch.fares_current.return_destination_id is 'The place with this code in the present route lists: joins destination_id of routes. Null where no place or several places have it.';
comment on column farewatch.fares_current.return_airline is 'Name of the airline, or its code where it has no name.';
comment on column farewatch.fares_current.return_flight_numbers is 'Flight numbers, one a segment.';
comment on column farewatch.fares_current.return_departs_local is 'Local time of the departure, without a zone.';
comment on column farewatch.fares_current.return_departs_at is 'The same as an instant; null where the time zone of the airport is unknown.';
comment on column farewatch.fares_current.hidden_reason is 'Why outbound, return and state are shown as unknown although a belief is held beneath: held (a mass of such changes waits), identity_mismatch (the answers show another flight), reverted (an operator has reverted its records). Null otherwise; stale is a column of its own.';
comment on column farewatch.fares_current.contradicted_since is 'When the first answer began that contradicts the belief, without one since that agreed; null where none does.';
comment on column farewatch.fares_current.held_since is 'Since when a mass of such changes holds what the answers show; null where none does. Every hold ends by itself.';

-- A spell of bookability begins with an interval that continues no bookable one, and ends with one that none continues.
-- One pass finds both, a second one over them alone joins each beginning to its end.
drop view farewatch.availability_survival;
create view farewatch.fare_survival as
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
                       (lag(pair) over fare, lag(valid_to) over fare) is distinct from (pair, valid_from) as begins,
                       (lead(pair) over fare, lead(valid_from) over fare) is distinct from (pair, valid_to) as ends,
                       -- A check that finds something else begins the next interval where this one ends.
                       case when lead(valid_from) over fare = valid_to then valid_to end as seen_to
                  from fare_belief_version
                window fare as (partition by tracked_fare_id order by valid_from)) b
         where pair = 'bookable' and (begins or ends)
        window fare as (partition by tracked_fare_id order by valid_from)) v
 where v.begins;
comment on view farewatch.fare_survival is 'Spells of bookability: how long a fare could be bought, one row a spell.';
comment on column farewatch.fare_survival.tracked_fare_id is 'The tracked fare.';
comment on column farewatch.fare_survival.valid_from is 'When it was first believed bookable in this spell.';
comment on column farewatch.fare_survival.valid_to is 'When the check began that made it not bookable; null where no check did.';
comment on column farewatch.fare_survival.censored is 'Whether no check saw its end: it goes on, or the fare expired while it was bookable (expired_at of fares_current).';
comment on column farewatch.fare_survival.lasted_seconds is 'How long it lasted, in seconds. Where its end was not seen: until the last good check.';
comment on column farewatch.fare_survival.reason is 'Why it ended: sold_out, sales_closed or unknown, as availability_changes says; of one that is censored, the reason of the end of its fare. Null while it goes on, and for records of a schema version below 3.';
comment on column farewatch.fare_survival.opening_price is 'The price when the spell began.';
comment on column farewatch.fare_survival.opening_currency is 'Its currency.';
comment on column farewatch.fare_survival.closing_price is 'The last price of the spell.';
comment on column farewatch.fare_survival.closing_currency is 'Its currency.';

drop view farewatch.availability_schedule;
-- Not granted to farewatch_analyst: rates say how many watches a fare has, and of which priority.
create view farewatch.fare_schedule as
select q.tracked_fare_id, f.flight_id, f.return_flight_id, q.changes_per_day,
       q.rate as checks_per_second,
       1 / q.rate as longest_interval_seconds,
       q.lane, q.lane_due_at, q.not_before,
       case when q.vdue <> 'infinity' then greatest(0, q.vdue - c.v) end as due_within_seconds,
       s.last_check_at, s.last_check_why
  from fare_schedule q
  join tracked_fare f on f.id = q.tracked_fare_id
 cross join fare_schedule_clock c
  left join fare_state s on s.tracked_fare_id = q.tracked_fare_id;
comment on view farewatch.fare_schedule is 'For operators: how often each fare is checked. Not readable by farewatch_analyst, because rates say how many watches a fare has and of which priority.';
comment on column farewatch.fare_schedule.tracked_fare_id is 'The tracked fare. Fares that are not checked any more have no row.';
comment on column farewatch.fare_schedule.flight_id is 'The outbound flight, as the upstream names it.';
comment on column farewatch.fare_schedule.return_flight_id is 'The return flight; null for a one-way question.';
comment on column farewatch.fare_schedule.changes_per_day is 'Estimated changes a day, as of the last check. Null before the first.';
comment on column farewatch.fare_schedule.checks_per_second is 'Its rate: the sum of what its resellers spend on it. Null until it joins the queue, within a minute.';
comment on column farewatch.fare_schedule.longest_interval_seconds is 'The seconds between two checks in its turn: 1 / checks_per_second, and fewer while others leave budget unused.';
comment on column farewatch.fare_schedule.lane is 'Why the next check comes before its turn; null where it does not.';
comment on column farewatch.fare_schedule.lane_due_at is 'When that check is due.';
comment on column farewatch.fare_schedule.not_before is 'The end of its shortest interval.';
comment on column farewatch.fare_schedule.due_within_seconds is 'The most seconds until its turn, while the whole budget is available.';
comment on column farewatch.fare_schedule.last_check_at is 'When its last check was recorded; null before the first.';
comment on column farewatch.fare_schedule.last_check_why is 'Why that check was made: scheduled, route_moved, a lane, on_demand or ended; null where that was not recorded.';

grant select on farewatch.history_starts, farewatch.fares_current, farewatch.fare_survival to farewatch_analyst;
