-- older code: may run
-- Why each fare was checked last. Older code leaves the reason of an earlier check.

alter table fare_state add column last_check_why text
  check (last_check_why in ('scheduled', 'confirmation', 'new_watch', 'retry', 'route_moved', 'on_demand', 'ended'));
comment on column fare_state.last_check_why is 'Why it was checked last; null if that was not recorded.';
