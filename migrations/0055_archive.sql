-- older code: may run
-- The floor: where histories and feeds begin after old rows were archived to files and deleted.

create table archive (
  id         uuid        primary key default uuidv7(),
  -- Intervals that ended by then and records that were written before it are archived, as far as nothing needs them.
  before     timestamptz not null,
  started_at timestamptz not null default clock_timestamp(),
  -- When its files were verified and the floors were moved. Its rows are deleted after that.
  applied_at timestamptz
);

-- With the last number, so that one read sees both ends of a feed.
alter table feed_head add column first_seq bigint not null default 1;
comment on column feed_head.first_seq is 'The first number that the feed still has; earlier records are archived.';
alter table reseller add column first_seq bigint not null default 1;
comment on column reseller.first_seq is 'The first number that the feed of its watches still has; earlier records are archived.';

-- Serves the deletion of events whose records are archived.
create index watch_change_event on watch_change (watch_event_id) where watch_event_id is not null;

create view farewatch.floors as
select n.name, case when coalesce(h.first_seq, 2) > 1 then a.since end as since, h.first_seq
  from (values ('route_history', null), ('route_availability_history', null), ('availability_history', null),
               ('route_changes', 'route'), ('availability_changes', 'availability')) n (name, feed)
  left join feed_head h on h.feed = n.feed
 cross join (select max(before) as since from archive where applied_at is not null) a;
comment on view farewatch.floors is 'Where each history and feed begins, after farewatch archive has moved older rows to files.';
comment on column farewatch.floors.name is 'The view that it is about.';
comment on column farewatch.floors.since is 'The view is complete for every instant since then. Null: nothing of it is archived.';
comment on column farewatch.floors.first_seq is 'Of a feed, the first number that it still has. Null for a history.';
grant select on farewatch.floors to farewatch_analyst;

create function farewatch.assert_kept(instant timestamptz)
returns boolean
language plpgsql stable parallel safe
as $$
declare
  floor timestamptz := (select since from farewatch.floors where name = 'route_history');
begin
  if instant < floor then
    raise exception 'the history before % is archived', to_char(floor at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')
      using errcode = 'invalid_parameter_value', hint = 'Ask for a later instant, or read the files of the archive.';
  end if;
  return true;
end;
$$;
comment on function farewatch.assert_kept is 'True. Raises an error for an instant before the floor of the histories.';

-- The condition has no column: it is checked once, before any row is read, and does not change the plan.
create or replace function farewatch.routes_as_of(instant timestamptz)
returns table (
  departure_id text, departure_iata text, departure_city text, departure_country text,
  destination_id text, destination_iata text, destination_city text, destination_country text,
  since timestamptz, available boolean
)
language sql stable parallel safe
begin atomic
  select r.departure_id, d.iata, d.city, d.country,
         r.destination_id, a.iata, a.city, a.country,
         r.valid_from,
         (select v.available
            from farewatch.route_availability_history v
           where (v.departure_id, v.destination_id) = (r.departure_id, r.destination_id)
             and v.valid_from <= instant and (v.valid_to is null or v.valid_to > instant))
    from farewatch.route_history r
    join farewatch.place_history d
      on d.place_id = r.departure_id and tstzrange(d.valid_from, d.valid_to) @> instant
    join farewatch.place_history a
      on a.place_id = r.destination_id and tstzrange(a.valid_from, a.valid_to) @> instant
   where tstzrange(r.valid_from, r.valid_to) @> instant
     and farewatch.assert_kept(instant);
end;
