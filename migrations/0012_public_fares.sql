-- older code: must stop
-- The public SQL of fares.

-- Private: the columns of flights that the public views of fares share. PostgreSQL leaves out the joins that a query does not use.
create view shown_flights as
select f.id,
       case when f.outbound_from ~ '^[A-Z]{3}$' then f.outbound_from end as outbound_departure_iata,
       od.place_id as outbound_departure_id,
       case when f.outbound_to ~ '^[A-Z]{3}$' then f.outbound_to end as outbound_destination_iata,
       oa.place_id as outbound_destination_id,
       f.outbound_airline, f.outbound_numbers as outbound_flight_numbers, f.outbound_departs_local,
       f.outbound_departs_local at time zone oz.zone as outbound_departs_at,
       case when f.return_from ~ '^[A-Z]{3}$' then f.return_from end as return_departure_iata,
       rd.place_id as return_departure_id,
       case when f.return_to ~ '^[A-Z]{3}$' then f.return_to end as return_destination_iata,
       ra.place_id as return_destination_id,
       f.return_airline, f.return_numbers as return_flight_numbers, f.return_departs_local,
       f.return_departs_local at time zone rz.zone as return_departs_at
  from fare_flights f
  left join place_code od on od.iata = f.outbound_from
  left join place_code oa on oa.iata = f.outbound_to
  left join airport oz on oz.iata = f.outbound_from
  left join place_code rd on rd.iata = f.return_from
  left join place_code ra on ra.iata = f.return_to
  left join airport rz on rz.iata = f.return_from;

create function fresh_for(checks_per_second double precision) returns interval language sql immutable as $$
  select greatest(interval '1 hour', make_interval(secs => 6 / checks_per_second))
$$;
comment on function fresh_for is 'How long after its last good check a belief is fresh: an hour, or six intervals. For analysts by the rate of the fare; for a reseller by what it spends itself on the fare, which shows nothing of others. An hour until the fare joins the queue.';

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
       f.outbound_departure_iata, f.outbound_departure_id,
       f.outbound_destination_iata, f.outbound_destination_id,
       f.outbound_airline, f.outbound_flight_numbers, f.outbound_departs_local, f.outbound_departs_at,
       f.return_departure_iata, f.return_departure_id,
       f.return_destination_iata, f.return_destination_id,
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

create view farewatch.fare_history as
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
       f.return_airline, f.return_flight_numbers, f.return_departs_local, f.return_departs_at
  from fare_belief_version v
  left join fare_state s on s.tracked_fare_id = v.tracked_fare_id and v.valid_to is null
  left join tracked_fare t on t.id = v.tracked_fare_id
  left join shown_flights f on f.id = coalesce(v.flights_id, s.flights_id);
comment on view farewatch.fare_history is 'Intervals of belief of every tracked fare, [valid_from, valid_to). A check that finds nothing new adds no row.';
comment on column farewatch.fare_history.tracked_fare_id is 'The tracked fare.';
comment on column farewatch.fare_history.outbound is 'Belief of the outbound leg.';
comment on column farewatch.fare_history.return is 'Belief of the return leg; null for a one-way question.';
comment on column farewatch.fare_history.state is 'State of the pair.';
comment on column farewatch.fare_history.price is 'Price of the pair.';
comment on column farewatch.fare_history.currency is 'Its currency.';
comment on column farewatch.fare_history.valid_from is 'When the check began that changed the belief.';
comment on column farewatch.fare_history.valid_to is 'When the check began that changed it again, or when the fare expired; null while the belief holds.';
comment on column farewatch.fare_history.price_checked_at is 'When the last check of the interval began that showed the price. After it nothing confirmed the price. Null where no price was believed, and in intervals that ended before this was kept.';
comment on column farewatch.fare_history.price_reason is 'Why the last answers of the interval did not show the price of a bookable pair; null where they did.';
comment on column farewatch.fare_history.flight_id is 'The outbound flight, as the upstream names it.';
comment on column farewatch.fare_history.return_flight_id is 'The return flight; null for a one-way question.';
comment on column farewatch.fare_history.residents_adults is 'Resident adults of the passenger mix.';
comment on column farewatch.fare_history.residents_children is 'Resident children.';
comment on column farewatch.fare_history.residents_infants is 'Resident infants.';
comment on column farewatch.fare_history.non_residents_adults is 'Non-resident adults.';
comment on column farewatch.fare_history.non_residents_children is 'Non-resident children.';
comment on column farewatch.fare_history.non_residents_infants is 'Non-resident infants.';
comment on column farewatch.fare_history.outbound_departure_iata is 'Airport code of the departure of the outbound flight, at the end of the interval. Null where no answer has shown the flight, or it has no code.';
comment on column farewatch.fare_history.outbound_departure_id is 'The place with this code in the present route lists: joins departure_id of routes. Null where no place or several places have it.';
comment on column farewatch.fare_history.outbound_destination_iata is 'Airport code of the destination of the outbound flight.';
comment on column farewatch.fare_history.outbound_destination_id is 'The place with this code in the present route lists: joins destination_id of routes. Null where no place or several places have it.';
comment on column farewatch.fare_history.outbound_airline is 'Name of the airline, or its code where it has no name.';
comment on column farewatch.fare_history.outbound_flight_numbers is 'Flight numbers, one a segment.';
comment on column farewatch.fare_history.outbound_departs_local is 'Local time of the departure, without a zone.';
comment on column farewatch.fare_history.outbound_departs_at is 'The same as an instant; null where the time zone of the airport is unknown.';
comment on column farewatch.fare_history.return_departure_iata is 'Airport code of the departure of the return flight, at the end of the interval. Null where no answer has shown the flight, or it has no code.';
comment on column farewatch.fare_history.return_departure_id is 'The place with this code in the present route lists: joins departure_id of routes. Null where no place or several places have it.';
comment on column farewatch.fare_history.return_destination_iata is 'Airport code of the destination of the return flight.';
comment on column farewatch.fare_history.return_destination_id is 'The place with this code in the present route lists: joins destination_id of routes. Null where no place or several places have it.';
comment on column farewatch.fare_history.return_airline is 'Name of the airline, or its code where it has no name.';
comment on column farewatch.fare_history.return_flight_numbers is 'Flight numbers, one a segment.';
comment on column farewatch.fare_history.return_departs_local is 'Local time of the departure, without a zone.';
comment on column farewatch.fare_history.return_departs_at is 'The same as an instant; null where the time zone of the airport is unknown.';

create view farewatch.availability_changes as
select seq, id, kind, tracked_fare_id, before, after, last_good_check_at, detected_at, recorded_at, schema_version,
       reason, held_since
  from availability_change;
comment on view farewatch.availability_changes is 'Every confirmed change of a tracked fare, once, in the order of seq.';
comment on column farewatch.availability_changes.seq is 'Dense number, in commit order: nothing appears later under a smaller one.';
comment on column farewatch.availability_changes.id is 'Stable identity of the record.';
comment on column farewatch.availability_changes.kind is 'became_available, became_unavailable, legs_changed, price_changed, itinerary_changed, identity_changed or expired.';
comment on column farewatch.availability_changes.tracked_fare_id is 'The tracked fare.';
comment on column farewatch.availability_changes.before is 'What was believed: pair, legs with their flights, price; priceReason where a bookable fare has no price.';
comment on column farewatch.availability_changes.after is 'What is believed since, in the same form.';
comment on column farewatch.availability_changes.last_good_check_at is 'When the last good check before it began: the change happened after.';
comment on column farewatch.availability_changes.detected_at is 'When the first check began that showed it: the change happened by then. Of expired: when the end was found, without a check.';
comment on column farewatch.availability_changes.recorded_at is 'When it was confirmed and written.';
comment on column farewatch.availability_changes.schema_version is 'Version of the schema of records: 2 added the kind watch_started to the feeds of watches, 3 added reason. The shape of before and after is that of 1.';
comment on column farewatch.availability_changes.reason is 'Of became_unavailable: sold_out, sales_closed (confirmed less than 3 hours before departure) or unknown (within a day of a departure in an unknown time zone). Of expired: departed, departs_on_passed or never_available. Null for other kinds, and for records of a schema version below 3.';
comment on column farewatch.availability_changes.held_since is 'Since when a mass of such changes held it; null if none did. Its delay is from last_good_check_at to recorded_at.';

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

create view farewatch.daily_fares as
select day, departure_iata, destination_iata, departure_id, destination_id, days_to_departure, has_return,
       residents_adults, residents_children, residents_infants,
       non_residents_adults, non_residents_children, non_residents_infants,
       fares, bookable, bookable_share, currency, p10, median, p90
  from daily_fares;
comment on view farewatch.daily_fares is 'What was believed of the tracked fares at the end of each UTC day, by route, days to departure and passenger mix. Fares whose flight is unknown or had departed are not counted.';
comment on column farewatch.daily_fares.day is 'The day, in UTC.';
comment on column farewatch.daily_fares.departure_iata is 'Airport code of the departure of the outbound flight.';
comment on column farewatch.daily_fares.destination_iata is 'Airport code of the destination of the outbound flight.';
comment on column farewatch.daily_fares.departure_id is 'The place with this code, by which fares join routes; null where no place or several places had it when the day was computed.';
comment on column farewatch.daily_fares.destination_id is 'The place with this code; null as above.';
comment on column farewatch.daily_fares.days_to_departure is 'Days from this day to the local date of the outbound departure.';
comment on column farewatch.daily_fares.has_return is 'Whether the fares have a return flight.';
comment on column farewatch.daily_fares.residents_adults is 'Resident adults of the passenger mix. Prices of different mixes are never compared.';
comment on column farewatch.daily_fares.residents_children is 'Resident children.';
comment on column farewatch.daily_fares.residents_infants is 'Resident infants.';
comment on column farewatch.daily_fares.non_residents_adults is 'Non-resident adults.';
comment on column farewatch.daily_fares.non_residents_children is 'Non-resident children.';
comment on column farewatch.daily_fares.non_residents_infants is 'Non-resident infants.';
comment on column farewatch.daily_fares.fares is 'Tracked fares of this group.';
comment on column farewatch.daily_fares.bookable is 'Those among them that were believed bookable.';
comment on column farewatch.daily_fares.bookable_share is 'bookable by the number of fares whose state was known; null where none was.';
comment on column farewatch.daily_fares.currency is 'The currency of the prices; null where the bookable fares have none or several.';
comment on column farewatch.daily_fares.p10 is 'The price below or at which a tenth of the bookable fares were; null without a single currency.';
comment on column farewatch.daily_fares.median is 'The median of their prices; null without a single currency.';
comment on column farewatch.daily_fares.p90 is 'The price below or at which nine tenths were; null without a single currency.';

grant select on
  farewatch.fares_current, farewatch.fare_history, farewatch.availability_changes, farewatch.fare_survival,
  farewatch.daily_fares
  to farewatch_analyst;
