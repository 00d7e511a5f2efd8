-- older code: may run
-- The ages of fares by the minute, for lines of the last hours.
-- No other table keeps them: a check that finds nothing new overwrites the time of the last.

create table belief_minute (
  minute      timestamptz primary key,
  fares       integer     not null,
  stale       integer     not null,
  p50_seconds float8      not null,
  p90_seconds float8      not null
);
comment on table belief_minute is 'The ages of the last good checks of all fares, once a minute, for two days: lines of the status.';
comment on column belief_minute.stale is 'Fares that were shown as unknown because their last good check was too long ago.';
