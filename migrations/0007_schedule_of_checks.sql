-- older code: must stop
-- The queue of checks. docs/reference/schedule.md has the rule. src/schedule alone writes these tables.
-- Checks are frequent: the fill factors leave room for updates within a page, and a claim writes no indexed column.

create table fare_schedule (
  tracked_fare_id      bigint             primary key references tracked_fare,
  vdue                 double precision   not null default 'infinity',
  not_before           timestamptz        not null default clock_timestamp(),
  lane                 text               check (lane in ('confirmation', 'new_watch', 'retry')),
  lane_due_at          timestamptz,
  claim_id             uuid,
  slot_at              timestamptz,
  available_changes    double precision   not null default 0,
  available_exposure   double precision   not null default 0,
  available_value      double precision   not null default 1.1,
  unavailable_changes  double precision   not null default 0,
  unavailable_exposure double precision   not null default 0,
  unavailable_value    double precision   not null default 5,
  rated_state          text               check (rated_state in ('available', 'unavailable')),
  rated_at             timestamptz,
  changed_at           timestamptz,
  route                text,
  surprise             double precision   not null default 1 check (surprise > 0),
  leased_until         timestamptz        not null default '-infinity',
  changes_per_day      double precision,
  rate                 double precision   check (rate > 0),
  scores               double precision[] not null default '{}',
  rates                double precision[] not null default '{}',
  interval_seconds     integer            not null default 60,
  lane_reseller        bigint,
  check ((lane is null) = (lane_due_at is null))
) with (fillfactor = 70);
comment on table fare_schedule is 'When each fare with an active watch is checked next. Written by src/schedule alone.';
comment on column fare_schedule.vdue is 'Virtual due time: the fare with the smallest is checked first. Infinity until the fare joins the queue.';
comment on column fare_schedule.not_before is 'End of the minimum interval.';
comment on column fare_schedule.lane is 'Why the fare is checked before the schedule says so; null where it is not.';
comment on column fare_schedule.available_changes is 'Changes while it was available, decayed over 30 days, corrected for several changes between two checks.';
comment on column fare_schedule.available_exposure is 'Days of observation while it was available, weighted by the factors, decayed over 30 days.';
comment on column fare_schedule.available_value is 'Running value of the changes that it had while it was available.';
comment on column fare_schedule.unavailable_changes is 'As available_changes, while it was unavailable.';
comment on column fare_schedule.unavailable_exposure is 'As available_exposure, while it was unavailable.';
comment on column fare_schedule.unavailable_value is 'As available_value, while it was unavailable.';
comment on column fare_schedule.rated_state is 'The state that its last counted check showed: its next interval belongs to that state.';
comment on column fare_schedule.rated_at is 'When its last counted check began.';
comment on column fare_schedule.changed_at is 'When its last change was detected.';
comment on column fare_schedule.route is 'The places of its outbound flight; null until an answer has shown it.';
comment on column fare_schedule.surprise is 'The factor of its route that changes_per_day includes.';
comment on column fare_schedule.leased_until is 'End of the lease of a claim.';
comment on column fare_schedule.changes_per_day is 'The expected changes a day that the scores follow from, factors included.';
comment on column fare_schedule.rate is 'Checks a second: the sum of rates, at most one in interval_seconds. Null until the fare joins the queue.';
comment on column fare_schedule.scores is 'What a check is worth to each of tracked_fare.resellers, √(w·v̄·λ), as of the last check.';
comment on column fare_schedule.rates is 'The checks a second that each of tracked_fare.resellers spends on it. Empty where its watches have changed since: it follows within a minute.';
comment on column fare_schedule.interval_seconds is 'The shortest interval until not_before.';
comment on column fare_schedule.lane_reseller is 'The reseller that caused the check in the lane and is charged for it; null: all of its resellers.';
-- Serves the lanes: what is due early.
create index fare_schedule_lane on fare_schedule (lane, lane_due_at) where lane is not null;
-- Serves the other fares of a route that changes.
create index fare_schedule_route on fare_schedule (route) where route is not null;
-- Serves the claim: the smallest virtual due time first.
create index fare_schedule_vdue on fare_schedule (vdue, tracked_fare_id);
-- Serves the claim where few fares are due, and the time of the next claim.
create index fare_schedule_not_before on fare_schedule (not_before) where vdue < 'infinity';
-- Serves first checks: those of each reseller in their order.
create index fare_schedule_first_checks on fare_schedule (lane_reseller, lane_due_at) where lane = 'new_watch';
-- Serves the work of each minute: fares that join the queue, or whose watches have changed.
create index fare_schedule_joining on fare_schedule (tracked_fare_id) where rates = '{}';

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
comment on table fare_schedule_reseller is 'How each reseller spends its part of the budget on its fares, solved once a minute. Number 0 stands for checks of no reseller.';
comment on column fare_schedule_reseller.per_score is 'The checks a second of a fare with the score 1. 0 until it is solved.';
comment on column fare_schedule_reseller.least_score is 'Lower scores count as this.';
comment on column fare_schedule_reseller.most_changes is 'The changes a day of a fare that count at most.';
comment on column fare_schedule_reseller.kept is 'The part of what its longest delays need that is kept.';
comment on column fare_schedule_reseller.applied_pace is 'per_score, for a budget of 1, when its fares were last put in line with it.';
comment on column fare_schedule_reseller.applied_kept is 'kept at that time.';
comment on column fare_schedule_reseller.part is 'Its share of the budget, in checks a second.';
comment on column fare_schedule_reseller.in_lanes is 'The checks a second that lanes made for it, decayed over five minutes, as of in_lanes_at.';

create table fare_schedule_clock (
  only_row            boolean          default true primary key check (only_row),
  solved_at           timestamptz      not null default '-infinity',
  fares               bigint           not null default 0,
  requests_per_second double precision check (requests_per_second > 0),
  min_recheck_seconds integer          check (min_recheck_seconds >= 0),
  v                   double precision not null default 0,
  speed               double precision not null default 1 check (speed > 0),
  solve_seconds       double precision not null default 0,
  pull_credit         double precision not null default 0
);
comment on table fare_schedule_clock is 'The virtual clock of the schedule, and what was counted when the rates were last solved.';
comment on column fare_schedule_clock.solved_at is 'When the rates were last solved.';
comment on column fare_schedule_clock.fares is 'The number of scheduled fares at that time.';
comment on column fare_schedule_clock.requests_per_second is 'The budget of the workers, as last counted. Unset before the first worker.';
comment on column fare_schedule_clock.min_recheck_seconds is 'The shortest interval between checks by the setting of the workers, as last counted.';
comment on column fare_schedule_clock.v is 'The largest virtual due time that was checked.';
comment on column fare_schedule_clock.speed is 'How fast v runs at most: what lanes leave of the budget, divided by the sum of all rates.';
comment on column fare_schedule_clock.solve_seconds is 'How long that took.';
comment on column fare_schedule_clock.pull_credit is 'The checks that fares of moving routes may still be pulled forward by: a fifth of the checks that were claimed.';
insert into fare_schedule_clock default values;

create table fare_schedule_factor (
  name       text             not null,
  bucket     integer          not null,
  expected   double precision not null,
  observed   double precision not null,
  updated_at timestamptz      not null default clock_timestamp(),
  primary key (name, bucket)
);
comment on table fare_schedule_factor is 'What the checks of all fares have shown of the factors of the rate of change.';
comment on column fare_schedule_factor.updated_at is 'When a process added to the row last.';
