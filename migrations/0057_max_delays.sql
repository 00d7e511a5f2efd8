-- older code: may run
-- The longest delay that a reseller asks for: kept by its own queue, and judged by its own share.

alter table tracked_fare add column bound_by bigint[] not null default '{}';
comment on column tracked_fare.bound_by is 'Of its resellers those whose max_delay_seconds is the smallest: one of them pays. Empty if none has one.';
comment on column tracked_fare.max_delay_seconds is 'The smallest max_delay_seconds of its active watches.';
comment on column watch.max_delay_seconds is 'The longest expected interval between checks that its reseller asked for.';

alter table recheck_clock
  add column requests_per_second double precision check (requests_per_second > 0),
  add column min_recheck_seconds integer check (min_recheck_seconds >= 0);
comment on column recheck_clock.requests_per_second is 'The budget of the workers, as last counted. Unset before the first worker.';
comment on column recheck_clock.min_recheck_seconds is 'The shortest interval between checks by the setting of the workers, as last counted.';

-- Serves the sum of what the longest delays need.
create index watch_max_delay on watch (reseller_id) where max_delay_seconds is not null;
