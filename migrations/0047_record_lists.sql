-- older code: may run
-- A record keeps the name of its list, so that a watch that is deleted before its records are read still passes filters by list.

alter table watch_change add column list text collate "C";
comment on column watch_change.list is 'The name of the list of the watch when the record was written; null for older records. The present name takes precedence.';
