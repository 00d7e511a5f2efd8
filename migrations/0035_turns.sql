-- older code: must stop
-- Turns: each reseller has a queue of its fares in its own virtual time, and resellers take turns.
-- Nothing is solved, and a check writes the rows of its own fare alone. docs/reference/schedule.md has the rule; src/schedule alone writes these tables.

drop view farewatch.fare_schedule;

create table reseller_queue (
  reseller_id bigint           primary key,
  pass        double precision not null default 0,
  v           double precision not null default 0,
  speed       double precision not null default 0,
  moved_at    timestamptz      not null default clock_timestamp(),
  fares       bigint           not null default 0,
  scores      double precision not null default 0,
  promised    double precision not null default 0,
  credit      double precision not null default 0
) with (fillfactor = 50);
comment on table reseller_queue is 'The queue of each reseller: whose turn it is, and its virtual time.';
comment on column reseller_queue.pass is 'The reseller with the smallest has the next turn, which moves it by one by its share.';
comment on column reseller_queue.v is 'Its virtual time: the largest due time of a turn that it took.';
comment on column reseller_queue.speed is 'How fast that moves, in virtual seconds a second: the mean of the last minute, as of moved_at.';
comment on column reseller_queue.fares is 'The number of its turns.';
comment on column reseller_queue.scores is 'The sum of their scores.';
comment on column reseller_queue.promised is 'The checks a second that its longest delays need.';
comment on column reseller_queue.credit is 'How many fares of moving routes may come forward: two fifths of its turns.';

create table turn (
  tracked_fare_id bigint           not null references tracked_fare,
  reseller_id     bigint           not null,
  weight          double precision not null,
  min_seconds     integer,
  max_seconds     integer,
  promised        double precision not null default 0,
  score           double precision not null check (score > 0),
  vdue            double precision not null,
  primary key (tracked_fare_id, reseller_id)
) with (fillfactor = 70);
comment on table turn is 'The turn of a fare in the queue of each reseller that watches it.';
comment on column turn.weight is 'The sum of the priorities of its active watches.';
comment on column turn.min_seconds is 'The shortest interval that all of them allow; null where one sets none.';
comment on column turn.max_seconds is 'The longest delay that one of them asks for; null where none does.';
comment on column turn.promised is 'The checks a second that it needs, as of the last change of its watches; 0 where none asks for it.';
comment on column turn.score is 'What a check is worth to the reseller: √(w·v̄·λ), at least a fifth of its mean.';
comment on column turn.vdue is 'When it is due in the virtual time of the reseller: the smallest comes first.';
-- Serves the claim: the next turns of each reseller.
create index turn_next on turn (reseller_id, vdue);

insert into turn (tracked_fare_id, reseller_id, weight, min_seconds, max_seconds, promised, score, vdue)
select f.id, r.id, coalesce(f.weights[r.at], 1), f.min_intervals[r.at], f.max_delays[r.at],
       case when f.max_delays[r.at] is null then 0
            else 1.0::float8 / greatest(f.max_delays[r.at], f.min_intervals[r.at], c.min_recheck_seconds, 1) end, s.score,
       -- What is left of its interval, or anywhere in it: the first round is spread.
       case when q.rate is null or q.vdue = 'infinity' then random()
            else least(1, greatest(0, (q.vdue - c.v) * q.rate)) end / s.score
  from fare_schedule q
  join tracked_fare f on f.id = q.tracked_fare_id
 cross join fare_schedule_clock c
 cross join lateral unnest(f.resellers) with ordinality r (id, at)
 cross join lateral (select greatest(1e-6, coalesce(q.scores[r.at], 1)) as score) s;

insert into reseller_queue (reseller_id, fares, scores, promised)
select t.reseller_id, count(*), sum(t.score), sum(t.promised)
  from turn t
 group by t.reseller_id;

alter table tracked_fare
  drop column resellers,
  drop column weights,
  drop column max_delays,
  drop column min_intervals;

drop index fare_schedule_vdue, fare_schedule_not_before, fare_schedule_joining;
alter table fare_schedule
  drop column vdue,
  drop column surprise,
  drop column scores,
  drop column rates,
  drop constraint fare_schedule_lane_check,
  add constraint fare_schedule_lane_check check (lane in ('max_delay', 'confirmation', 'new_watch', 'retry')),
  add route_moved   boolean not null default false;
update fare_schedule q
   set lane_reseller = (select min(t.reseller_id) from turn t where t.tracked_fare_id = q.tracked_fare_id)
 where q.lane = 'new_watch' and q.lane_reseller is null;
update fare_schedule q
   set lane = 'max_delay',
       lane_due_at = coalesce((select s.last_check_at from fare_state s where s.tracked_fare_id = f.id), clock_timestamp())
                       + make_interval(secs => f.max_delay_seconds)
  from tracked_fare f
 where f.id = q.tracked_fare_id and f.max_delay_seconds is not null and q.lane is null;
comment on table fare_schedule is 'What is due of each fare with an active watch. Written by src/schedule alone.';
comment on column fare_schedule.changes_per_day is 'The expected changes a day as of the last check; null before the first.';
comment on column fare_schedule.rate is 'Checks a second: one in the usual time between two, as of the last check; null before the first.';
comment on column fare_schedule.route_moved is 'Whether it came forward because another fare of its route has changed.';
comment on column fare_schedule.available_changes is 'Changes while it was available, decayed over 30 days, each as the number that an interval with one is expected to hold.';
comment on column fare_schedule.available_exposure is 'Days of observation while it was available, decayed over 30 days.';
comment on column fare_schedule.lane is 'Why the fare is urgent: it is checked before its turn; null where it is not.';
comment on column fare_schedule.lane_reseller is 'The reseller that added a fare, and pays for its first check; null: all of its resellers pay.';
-- Serves the time of the next claim.
create index fare_schedule_not_before on fare_schedule (not_before);

alter table fare_schedule_clock
  drop column solved_at,
  drop column fares,
  drop column v,
  drop column speed,
  drop column solve_seconds,
  drop column pull_credit,
  drop column following,
  drop column followed_to,
  add claimed_at           timestamptz,
  add pass                 double precision not null default 0,
  add learned_at           timestamptz      not null default clock_timestamp(),
  add available_changes    double precision not null default 0,
  add available_exposure   double precision not null default 0,
  add unavailable_changes  double precision not null default 0,
  add unavailable_exposure double precision not null default 0,
  add soon_found           double precision not null default 0,
  add soon_expected        double precision not null default 0;
update fare_schedule_clock
   set available_changes = f.observed, available_exposure = f.expected
  from fare_schedule_factor f where f.name = 'all available';
update fare_schedule_clock
   set unavailable_changes = f.observed, unavailable_exposure = f.expected
  from fare_schedule_factor f where f.name = 'all unavailable';
alter table fare_schedule_clock rename to schedule_facts;
comment on table schedule_facts is 'What workers have set, and what the checks of all fares have shown together.';
comment on column schedule_facts.requests_per_second is 'The budget of the workers, as of the last claim. Unset before the first worker.';
comment on column schedule_facts.min_recheck_seconds is 'The shortest interval between checks by the setting of the workers, as of the last claim.';
comment on column schedule_facts.claimed_at is 'When a worker claimed last.';
comment on column schedule_facts.pass is 'The smallest pass of the resellers that had the last turns: one that had nothing to check comes back with it.';
comment on column schedule_facts.learned_at is 'As of when the sums are decayed.';
comment on column schedule_facts.available_changes is 'The changes of all fares while they were available, decayed over 30 days.';
comment on column schedule_facts.available_exposure is 'Their days of observation.';
comment on column schedule_facts.unavailable_changes is 'As available_changes, while they were unavailable.';
comment on column schedule_facts.unavailable_exposure is 'Their days of observation.';
comment on column schedule_facts.soon_found is 'Changes within four hours of a change.';
comment on column schedule_facts.soon_expected is 'Those of them that would be expected without it.';
drop table fare_schedule_factor, fare_schedule_reseller;

alter table fare_state
  drop constraint fare_state_last_check_why_check,
  add constraint fare_state_last_check_why_check
    check (last_check_why in ('scheduled', 'max_delay', 'confirmation', 'new_watch', 'retry', 'route_moved', 'on_demand'));

-- Not granted to farewatch_analyst: rates say how many watches a fare has, and of which priority.
create view farewatch.fare_schedule as
select q.tracked_fare_id, f.flight_id, f.return_flight_id, q.changes_per_day,
       q.rate as checks_per_second,
       1 / q.rate as longest_interval_seconds,
       q.lane, q.lane_due_at, q.not_before,
       (select min(greatest(0, t.vdue - r.v) / nullif(r.speed, 0))
          from turn t
          join reseller_queue r using (reseller_id)
         where t.tracked_fare_id = q.tracked_fare_id) as due_within_seconds,
       s.last_check_at, s.last_check_why
  from fare_schedule q
  join tracked_fare f on f.id = q.tracked_fare_id
  left join fare_state s on s.tracked_fare_id = q.tracked_fare_id;
comment on view farewatch.fare_schedule is 'For operators: how often each fare is checked. Not readable by farewatch_analyst, because rates say how many watches a fare has and of which priority.';
comment on column farewatch.fare_schedule.tracked_fare_id is 'The tracked fare. Fares that are not checked any more have no row.';
comment on column farewatch.fare_schedule.flight_id is 'The outbound flight, as the upstream names it.';
comment on column farewatch.fare_schedule.return_flight_id is 'The return flight; null for a one-way question.';
comment on column farewatch.fare_schedule.changes_per_day is 'Estimated changes a day, as of the last check. Null before the first.';
comment on column farewatch.fare_schedule.checks_per_second is 'One in the usual time between two checks, as of the last check. Null before the first.';
comment on column farewatch.fare_schedule.longest_interval_seconds is 'The usual seconds between two checks: those of the queue in which its turn comes first.';
comment on column farewatch.fare_schedule.lane is 'Why the next check comes before its turn; null where it does not.';
comment on column farewatch.fare_schedule.lane_due_at is 'When that check is due.';
comment on column farewatch.fare_schedule.not_before is 'The end of its shortest interval.';
comment on column farewatch.fare_schedule.due_within_seconds is 'The usual seconds until its turn; null while how fast the queue moves is unknown.';
comment on column farewatch.fare_schedule.last_check_at is 'When its last check was recorded; null before the first.';
comment on column farewatch.fare_schedule.last_check_why is 'Why that check was made: scheduled, route_moved, a lane, or on_demand; null where that was not recorded.';
