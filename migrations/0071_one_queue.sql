-- older code: must stop
-- One queue for all fares: a fare is checked at the sum of what its resellers spend on it.
-- Fares join the new queue within a minute: until then they are checked in the lanes alone.

alter table tracked_fare add column min_intervals integer[] not null default '{}';
comment on column tracked_fare.min_intervals is 'For each of its resellers the smallest min_interval_seconds of its active watches, null where one of them sets none.';
update tracked_fare f
   set min_intervals = (select array_agg(o.seconds order by r.place)
                          from unnest(f.resellers) with ordinality r (id, place)
                          left join (select w.reseller_id,
                                            case when count(w.min_interval_seconds) = count(*)
                                                 then min(w.min_interval_seconds) end as seconds
                                       from watch w
                                      where w.tracked_fare_id = f.id and w.paused_at is null and w.ended_at is null
                                      group by w.reseller_id) o on o.reseller_id = r.id)
 where f.resellers <> '{}';

drop view farewatch.availability_schedule;

drop index fare_schedule_vdue;
drop index fare_schedule_not_before;
alter table fare_schedule
  drop column payer,
  drop column ticket,
  alter column vdue set default 'infinity',
  add column rate             double precision check (rate > 0),
  add column scores           double precision[] not null default '{}',
  add column rates            double precision[] not null default '{}',
  add column interval_seconds integer not null default 60,
  add column lane_reseller    bigint;
-- A time further ahead than interval_seconds would be taken for one from before the clock was set back.
update fare_schedule
   set vdue = 'infinity', interval_seconds = greatest(60, least(2678400, ceil(extract(epoch from not_before - now()))));
comment on table fare_schedule is 'When each fare with an active watch is checked next. Written by src/schedule alone.';
comment on column fare_schedule.vdue is 'Virtual due time: the fare with the smallest is checked first. Infinity until the fare joins the queue.';
comment on column fare_schedule.rate is 'Checks a second: the sum of rates, at most one in interval_seconds. Null until the fare joins the queue.';
comment on column fare_schedule.scores is 'What a check is worth to each of tracked_fare.resellers, √(w·v̄·λ), as of the last check.';
comment on column fare_schedule.rates is 'The checks a second that each of tracked_fare.resellers spends on it. Empty where its watches have changed since: it follows within a minute.';
comment on column fare_schedule.interval_seconds is 'The shortest interval until not_before.';
comment on column fare_schedule.lane_reseller is 'The reseller that caused the check in the lane and is charged for it; null: all of its resellers.';
comment on column fare_schedule.changes_per_day is 'The expected changes a day that the scores follow from, factors included.';
comment on column fare_schedule.surprise is 'The factor of its route that changes_per_day includes.';

-- Serves the claim: the smallest virtual due time first.
create index fare_schedule_vdue on fare_schedule (vdue, tracked_fare_id);
-- Serves the claim where few fares are due, and the time of the next claim.
create index fare_schedule_not_before on fare_schedule (not_before) where vdue < 'infinity';
-- Serves first checks: those of each reseller in their order.
create index fare_schedule_first_checks on fare_schedule (lane_reseller, lane_due_at) where lane = 'new_watch';
-- Serves the work of each minute: fares that join the queue, or whose watches have changed.
create index fare_schedule_joining on fare_schedule (tracked_fare_id) where rates = '{}';

drop table recheck_payer;
create table fare_schedule_reseller (
  reseller_id  bigint           primary key,
  per_score    double precision not null default 0,
  least_score  double precision not null default 0,
  most_changes double precision not null default 0,
  kept         double precision not null default 1,
  applied_pace double precision not null default 0,
  applied_kept double precision not null default 1,
  part         double precision not null default 0,
  in_lanes     double precision not null default 0,
  in_lanes_at  timestamptz      not null default '-infinity'
) with (fillfactor = 50);
insert into fare_schedule_reseller (reseller_id) select id from reseller;
update fare_schedule q
   set lane_reseller = f.resellers[1]
  from tracked_fare f
 where f.id = q.tracked_fare_id and q.lane = 'new_watch';
comment on table fare_schedule_reseller is 'How each reseller spends its part of the budget on its fares, solved once a minute. Number 0 stands for checks of no reseller.';
comment on column fare_schedule_reseller.per_score is 'The checks a second of a fare with the score 1. 0 until it is solved.';
comment on column fare_schedule_reseller.least_score is 'Lower scores count as this.';
comment on column fare_schedule_reseller.most_changes is 'The changes a day of a fare that count at most.';
comment on column fare_schedule_reseller.kept is 'The part of what its longest delays need that is kept.';
comment on column fare_schedule_reseller.applied_pace is 'per_score, for a budget of 1, when its fares were last put in line with it.';
comment on column fare_schedule_reseller.applied_kept is 'kept at that time.';
comment on column fare_schedule_reseller.part is 'Its share of the budget, in checks a second.';
comment on column fare_schedule_reseller.in_lanes is 'The checks a second that lanes made for it, decayed over five minutes, as of in_lanes_at.';

alter table recheck_clock rename to fare_schedule_clock;
alter table recheck_factor rename to fare_schedule_factor;
delete from fare_schedule_factor where name like 'hazard %';

create function fresh_for(checks_per_second double precision) returns interval language sql immutable as $$
  select greatest(interval '1 hour', make_interval(secs => 6 / checks_per_second))
$$;
comment on function fresh_for is 'How long after its last good check a belief is fresh: an hour, or six intervals. For analysts by the rate of the fare; for a reseller by what it spends itself on the fare, which shows nothing of others. An hour until the fare joins the queue.';

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
  left join fare_schedule q on q.tracked_fare_id = t.id
 cross join lateral (select fresh_for(q.rate) as fresh_for) r
 cross join lateral (select coalesce(clock_timestamp() - s.price_checked_at between interval '-10 seconds' and r.fresh_for, false)
                              as is_fresh) a
 cross join lateral (select a.is_fresh,
                            a.is_fresh and s.hidden is null and s.price_reason is distinct from 'held' as is_shown) p
  left join shown_flights f on f.id = s.flights_id;

alter table fare_schedule_clock
  drop column pass,
  drop column dispatched_at,
  drop column expected_interval;
alter table fare_schedule_clock rename column counted_at to solved_at;
alter table fare_schedule_clock
  alter column solved_at set default '-infinity',
  add column v           double precision not null default 0,
  add column speed       double precision not null default 1 check (speed > 0),
  add column solve_seconds double precision not null default 0,
  add column pull_credit double precision not null default 0;
update fare_schedule_clock set solved_at = '-infinity';
comment on table fare_schedule_clock is 'The virtual clock of the schedule, and what was counted when the rates were last solved.';
comment on column fare_schedule_clock.v is 'The largest virtual due time that was checked.';
comment on column fare_schedule_clock.speed is 'How fast v runs at most: what lanes leave of the budget, divided by the sum of all rates.';
comment on column fare_schedule_clock.pull_credit is 'The checks that fares of moving routes may still be pulled forward by: a fifth of the checks that were claimed.';
comment on column fare_schedule_clock.solved_at is 'When the rates were last solved.';
comment on column fare_schedule_clock.solve_seconds is 'How long that took.';
comment on column fare_schedule_clock.fares is 'The number of scheduled fares at that time.';

-- Not granted to farewatch_analyst: rates say how many watches a fare has, and of which priority.
create view farewatch.availability_schedule as
select q.tracked_fare_id, f.flight_id, f.return_flight_id, q.changes_per_day,
       q.rate as checks_per_second,
       make_interval(secs => 1 / q.rate) as longest_interval,
       q.lane, q.lane_due_at, q.not_before,
       case when q.vdue <> 'infinity' then make_interval(secs => greatest(0, q.vdue - c.v)) end as due_within,
       s.last_check_at, s.last_check_why
  from fare_schedule q
  join tracked_fare f on f.id = q.tracked_fare_id
 cross join fare_schedule_clock c
  left join fare_state s on s.tracked_fare_id = q.tracked_fare_id;
comment on view farewatch.availability_schedule is 'For operators: how often each fare is checked. Not readable by farewatch_analyst, because rates say how many watches a fare has and of which priority.';
comment on column farewatch.availability_schedule.tracked_fare_id is 'The tracked fare. Fares that are not checked any more have no row.';
comment on column farewatch.availability_schedule.flight_id is 'The outbound flight, as the upstream names it.';
comment on column farewatch.availability_schedule.return_flight_id is 'The return flight; null for a one-way question.';
comment on column farewatch.availability_schedule.changes_per_day is 'Estimated changes a day, as of the last check. Null before the first.';
comment on column farewatch.availability_schedule.checks_per_second is 'Its rate: the sum of what its resellers spend on it. Null until it joins the queue, within a minute.';
comment on column farewatch.availability_schedule.longest_interval is 'The time between two checks in its turn: 1 / checks_per_second, and shorter while others leave budget unused.';
comment on column farewatch.availability_schedule.lane is 'Why the next check comes before its turn; null where it does not.';
comment on column farewatch.availability_schedule.lane_due_at is 'When that check is due.';
comment on column farewatch.availability_schedule.not_before is 'The end of its shortest interval.';
comment on column farewatch.availability_schedule.due_within is 'The longest time until its turn, while the whole budget is available.';
comment on column farewatch.availability_schedule.last_check_at is 'When its last check was recorded; null before the first.';
comment on column farewatch.availability_schedule.last_check_why is 'Why that check was made: scheduled, route_moved, a lane, on_demand or ended; null where that was not recorded.';
