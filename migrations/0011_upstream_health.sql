-- older code: may run
-- What all processes know of the upstream's health: pauses it asked for, and the breakers.
-- Older code beside it neither waits nor slows down; it breaks nothing.

alter table upstream_budget
  -- No slot is given before this instant.
  add column paused_until   timestamptz      not null default 'epoch',
  -- Pauses that followed each other closely, this one included: what a pause without a figure grows by.
  add column pauses_in_row  integer          not null default 0,
  -- The part of the budget that could be spent at `recovers_from`; from then on it grows by 0.01 a second, to 1.
  add column share          double precision not null default 1 check (share > 0 and share <= 1),
  add column recovers_from  timestamptz      not null default 'epoch',
  -- When the share was last lowered: at most once a second.
  add column lowered_at     timestamptz      not null default 'epoch';

-- One row a breaker. `state` is what src/upstream/breaker.ts takes and gives; its instants are milliseconds since
-- 1970 by this database's clock. A credential is known by a few digits of its hash alone.
create table upstream_breaker (
  endpoint   text        not null check (endpoint in ('lists', 'verify')),
  breaker    text        not null check (breaker in ('auth', 'errors')),
  state      jsonb       not null default '{"open": null, "closedAtMs": null, "trips": 0, "failuresInARow": 0, "failedAtMs": null, "window": []}',
  written_at timestamptz not null default clock_timestamp(),
  primary key (endpoint, breaker)
);
insert into upstream_breaker (endpoint, breaker)
values ('lists', 'auth'), ('lists', 'errors'), ('verify', 'auth'), ('verify', 'errors');
