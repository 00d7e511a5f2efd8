-- older code: may run
-- The sums of all fares decay by the time since their row was last updated.

alter table recheck_factor add column updated_at timestamptz not null default clock_timestamp();
comment on column recheck_factor.updated_at is 'When a process added to the row last.';
-- Processes that restarted have subtracted more than they had added.
delete from recheck_factor where expected < 0 or observed < 0;
