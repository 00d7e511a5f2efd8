-- older code: may run
-- What the schedule learns: how often each fare changes, and the factors of that rate. Its ticket follows from them.

alter table fare_schedule
  add column available_changes    double precision not null default 0,
  add column available_exposure   double precision not null default 0,
  add column available_value      double precision not null default 1.1,
  add column unavailable_changes  double precision not null default 0,
  add column unavailable_exposure double precision not null default 0,
  add column unavailable_value    double precision not null default 5,
  add column rated_state          text             check (rated_state in ('available', 'unavailable')),
  add column rated_at             timestamptz,
  add column changed_at           timestamptz;

comment on column fare_schedule.available_changes is 'Changes while it was available, decayed over 30 days, corrected for several changes between two checks.';
comment on column fare_schedule.available_exposure is 'Days of observation while it was available, weighted by the factors, decayed over 30 days.';
comment on column fare_schedule.available_value is 'Running value of the changes that it had while it was available.';
comment on column fare_schedule.unavailable_changes is 'As available_changes, while it was unavailable.';
comment on column fare_schedule.unavailable_exposure is 'As available_exposure, while it was unavailable.';
comment on column fare_schedule.unavailable_value is 'As available_value, while it was unavailable.';
comment on column fare_schedule.rated_state is 'The state that its last counted check showed: its next interval belongs to that state.';
comment on column fare_schedule.rated_at is 'When its last counted check began.';
comment on column fare_schedule.changed_at is 'When its last change was detected.';

-- Serves the claim: the smallest virtual due time first, equal ones in the order of their fares.
drop index fare_schedule_vdue;
create index fare_schedule_vdue on fare_schedule (vdue, tracked_fare_id);

alter table recheck_clock add column fares bigint not null default 0;
comment on column recheck_clock.fares is 'The number of scheduled fares, as last counted.';

-- The changes that were expected without a factor, and those that were observed, for each bucket of each factor.
create table recheck_factor (
  name     text             not null,
  bucket   integer          not null,
  expected double precision not null,
  observed double precision not null,
  primary key (name, bucket)
);
comment on table recheck_factor is 'What the checks of all fares have shown of the factors of the rate of change.';
