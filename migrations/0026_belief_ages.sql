-- older code: may run
-- How old the beliefs were in the last hours. The age of a fare's last good check is not kept by any other table: a
-- check that finds nothing new overwrites it.

create table belief_minute (
  minute      timestamptz primary key,
  fares       integer     not null,
  stale       integer     not null,
  p50_seconds float8      not null,
  p90_seconds float8      not null
);
comment on table belief_minute is 'The ages of the last good checks of all fares, once a minute, for two days: lines of the status.';
comment on column belief_minute.stale is 'Fares that were shown as unknown because their last good check was too long ago.';
