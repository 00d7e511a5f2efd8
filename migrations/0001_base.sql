-- older code: must stop
-- Schemas, the notes that rolling deploys read, the role of analysts, feeds, processes and ticks.

create table migration_note (
  name               text primary key,
  older_code_may_run boolean     not null,
  applied_at         timestamptz not null default now()
);
comment on table migration_note is 'What a migration says to the operator.';

create schema if not exists farewatch;
comment on schema farewatch is 'What analysts read: views, and functions over views. Nothing else is public.';

-- Roles belong to the whole cluster: another database of this server may have made it already.
do $$
begin
  if not exists (select from pg_roles where rolname = 'farewatch_analyst') then
    create role farewatch_analyst nologin;
  end if;
exception
  when duplicate_object or unique_violation then null;
  when insufficient_privilege then
    raise exception 'role farewatch_analyst is missing and this user may not create it'
      using hint = 'As an administrator: create role farewatch_analyst nologin';
end
$$;
grant usage on schema farewatch to farewatch_analyst;

-- "farewatch sql" reads as the analyst. A user who is no superuser must be a member of the role for that.
do $$
begin
  if not (select rolsuper from pg_roles where rolname = current_user) then
    execute format('grant farewatch_analyst to %I', current_user);
  end if;
exception
  when insufficient_privilege then
    raise notice 'the user is no member of farewatch_analyst: "farewatch sql" will be refused';
end
$$;

create table feed_head (
  feed      text   primary key,
  last_seq  bigint not null default 0,
  first_seq bigint not null default 1
);
comment on table feed_head is 'The last number of each feed of all resellers. Its row lock makes the numbers dense and lets them appear in order.';
comment on column feed_head.first_seq is 'The first number that the feed still has; earlier records are archived.';
insert into feed_head (feed) values ('route'), ('availability');

create table process (
  id               uuid        primary key,
  role             text        not null,
  version          text        not null,
  host             text        not null,
  pid              integer     not null,
  started_at       timestamptz not null default clock_timestamp(),
  last_progress_at timestamptz not null default clock_timestamp()
);
comment on table process is 'The processes that run, by their heartbeats.';
comment on column process.last_progress_at is 'Refreshed while the process makes progress. A process that stops in order deletes its row.';

create table tick (
  name     text        primary key,
  due_at   timestamptz not null,
  ended_at timestamptz,
  failure  text
);
comment on table tick is 'When each tick that one worker runs for all is due, and how its last run ended.';
comment on column tick.ended_at is 'Null until its first run has ended.';
comment on column tick.failure is 'Null if the last run succeeded.';
