-- older code: may run
-- When a route changes more than expected, its other fares are checked sooner.

alter table fare_schedule
  add column route    text,
  add column surprise double precision not null default 1 check (surprise > 0);
comment on column fare_schedule.route is 'The places of its outbound flight; null until an answer has shown it.';
comment on column fare_schedule.surprise is 'The factor of its route that its ticket includes.';
-- Serves the other fares of a route that changes.
create index fare_schedule_route on fare_schedule (route) where route is not null;
