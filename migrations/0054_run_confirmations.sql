-- older code: may run
-- The setting may change between two runs. A replay needs the one that each run used.

-- Null for runs before this migration, and for those that applied nothing. Older code leaves it null.
alter table sync_run add column confirmations integer check (confirmations > 0);
comment on column sync_run.confirmations is 'Lists in a row that had to lack a route before this run removed it.';
