-- older code: may run
-- What operators decide while the service runs: pauses of its work, a limit of the budget, and the list of who did what.
-- Processes of older code know neither the pauses nor the limit.

create table pause (
  id        bigint      generated always as identity primary key,
  what      text        not null check (what in ('checks', 'syncs', 'deliveries')),
  starts_at timestamptz not null default clock_timestamp(),
  ends_at   timestamptz not null default 'infinity',
  reason    text        not null,
  made_by   text        not null,
  check (ends_at > starts_at)
);
comment on table pause is 'Work that operators have stopped or will stop. A resumed pause is deleted; one that has ended by itself counts no more.';
comment on column pause.ends_at is 'Infinity: until it is resumed.';

alter table upstream_budget
  add column limit_per_second double precision check (limit_per_second > 0),
  add column limited_until    timestamptz not null default '-infinity',
  add column limit_reason     text,
  add column limited_by       text;
comment on column upstream_budget.limit_per_second is 'Requests a second that operators allow until limited_until. Null: as many as the setting.';

create table audit_entry (
  id       bigint      generated always as identity primary key,
  at       timestamptz not null default clock_timestamp(),
  made_by  text        not null,
  action   text        not null,
  target   text,
  reason   text
);
comment on table audit_entry is 'What operators changed through the API or the command line, and who. Never deleted.';
comment on column audit_entry.made_by is 'The key, or cli.';
