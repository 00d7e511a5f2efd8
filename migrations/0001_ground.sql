-- older code: may run
-- Schemas, the notes that rolling deploys read, the analyst role, and the heads of all feeds.

create table migration_note (
  name               text primary key,
  older_code_may_run boolean     not null,
  applied_at         timestamptz not null default now()
);

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

-- "farewatch sql" asks as the analyst; who is no superuser must be a member for that.
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

-- One row a feed. Its row lock is the feed's: numbers are dense and become visible in order.
create table feed_head (
  feed     text   primary key,
  last_seq bigint not null default 0
);
