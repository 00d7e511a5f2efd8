-- older code: may run
-- The ticks that one process runs for all: when each is due next, and how its last run ended.

create table tick (
  name     text        primary key,
  due_at   timestamptz not null,
  -- Null until its first run has ended.
  ended_at timestamptz,
  -- Null if the last run succeeded.
  failure  text
);
