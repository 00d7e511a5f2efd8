-- older code: must stop
-- Renumbered places are a view over the history, also over lists of before. Older code would write the table of renumberings.
-- The texts of places are normalized as the lists are from now on, so that the next list changes no place by it.

-- Without a code of two ids, nothing below reads a route.
create view place_of_shared_code as
select distinct place_id
  from place_version
 where iata in (select iata from place_version where iata <> '' group by iata having count(*) > 1 and min(place_id) < max(place_id));
comment on view place_of_shared_code is 'Places that have or had a code that another id has or had too.';

-- The routes with which a place began are not archived: they show whose successor it is.
create or replace view archivable_route_version as
select v.departure_id, v.destination_id, v.valid_from, v.valid_to, greatest(v.valid_to, n.next_from) as archivable_at
  from route_version v
 cross join lateral (select min(l.valid_from) as next_from
                       from route_version l
                      where l.departure_id = v.departure_id and l.destination_id = v.destination_id and l.valid_from > v.valid_from) n
 where v.valid_to is not null and n.next_from is not null
   and (not exists (select from place_version p
                     where p.place_id in (v.departure_id, v.destination_id) and p.valid_from = v.valid_from)
        or exists (select from sync_run r where r.id = v.added_by and r.baseline));

drop view farewatch.place_renumberings;
-- A list that the next one takes back is none: the absences that it began have left no trace.
create view farewatch.place_renumberings as
with recursive
     version as materialized (
       select place_id, iata, country, valid_from, coalesce(valid_to, 'infinity') as valid_to
         from place_version
        where place_id in (select place_id from place_of_shared_code)),
     route as materialized (
       select e.place_id, e.departs, e.other_id, e.added_by, e.removed_by, e.valid_from, coalesce(e.valid_to, 'infinity') as valid_to,
              coalesce(e.first_missed_at, e.valid_to, p.first_missed_at, 'infinity') as missed_at
         from place_of_shared_code c
        cross join lateral (select c.place_id, true as departs, v.destination_id as other_id, v.*
                              from route_version v where v.departure_id = c.place_id
                            union all
                            select c.place_id, false, v.departure_id, v.*
                              from route_version v where v.destination_id = c.place_id
                            offset 0) e
         left join pending_absence p
                on p.list = 'routes' and (p.departure_id, p.destination_id) = (e.departure_id, e.destination_id) and e.valid_to is null),
     pair as (
       select o.place_id as previous_id, n.place_id, true as is_new, n.valid_from as at,
              (select min(r.added_by) from route r where (r.place_id, r.valid_from) = (n.place_id, n.valid_from)) as sync_run_id
         from version n
         join version o on o.iata = n.iata and o.place_id <> n.place_id and (o.country = n.country or '' in (o.country, n.country))
                       and o.valid_from < n.valid_from and o.valid_to > n.valid_from
        where n.iata <> '' and not exists (select from version e where e.place_id = n.place_id and e.valid_from < n.valid_from)
       union all
       select distinct o.place_id, n.place_id, false, r.valid_to, r.removed_by
         from route r
         join version o on o.place_id = r.place_id and o.valid_from < r.valid_to and o.valid_to > r.valid_to
         join version n on n.iata = o.iata and n.place_id <> o.place_id and n.valid_from < r.valid_to and n.valid_to > r.valid_to
        where r.removed_by is not null and o.iata <> ''),
     candidate as materialized (
       select row_number() over () as number, p.*, coalesce(r.arrived_at, r.fetched_at) as arrived_at
         from pair p
         join sync_run r on r.id = p.sync_run_id),
     -- The other ends of the routes of both ids before and after the list, by their codes at that time.
     other_end as (
       select c.number, r.departs, coalesce(nullif(x.iata, ''), '#' || r.other_id) collate "C" as code,
              count(*) filter (where e.is_previous and r.valid_from < c.at) as routes,
              bool_or(not e.is_previous and r.missed_at > c.arrived_at) as taken_over,
              bool_or(e.is_previous and r.missed_at > c.arrived_at) as stays,
              bool_or(e.is_previous and r.valid_to > c.at) as is_live
         from candidate c
        cross join lateral (values (c.previous_id, true), (c.place_id, false)) e (place_id, is_previous)
         join route r on r.place_id = e.place_id and r.valid_from <= c.at and r.valid_to >= c.at
         left join place_version x on x.place_id = r.other_id and x.valid_from <= c.at and (x.valid_to is null or x.valid_to > c.at)
        group by c.number, r.departs, code),
     counted as (
       select number, sum(routes)::integer as routes, (sum(routes) filter (where taken_over))::integer as routes_taken_over,
              bool_or(stays) as stays, bool_or(is_live) as is_live
         from other_end
        group by number),
     successor as (
       select *
         from candidate
         join counted using (number)
        where not stays and (is_new or not is_live) and 2 * routes_taken_over > routes),
     best as (
       select distinct on (sync_run_id, place_id) *
         from (select distinct on (sync_run_id, previous_id) *
                 from successor order by sync_run_id, previous_id, is_new desc, routes_taken_over desc, place_id) s
        order by sync_run_id, place_id, is_new desc, routes_taken_over desc, previous_id),
     durable (place_id, durable_id) as (
       select previous_id, previous_id
         from best
        where is_new and previous_id not in (select place_id from best where is_new)
       union
       select b.place_id, d.durable_id from durable d join best b on b.is_new and b.previous_id = d.place_id),
     ordered as (
       select b.*, p.durable_id, lag(b.place_id) over (partition by p.durable_id order by b.at, b.is_new) as present_id
         from best b
         join durable p on p.place_id = b.previous_id
         join durable n on (n.place_id, n.durable_id) = (b.place_id, p.durable_id))
select previous_id, place_id, durable_id, routes, routes_taken_over, sync_run_id, at as valid_at
  from ordered
 where is_new or previous_id = present_id;
comment on view farewatch.place_renumberings is 'Places that a list gave under another id: the same code and country, and more than half of the routes.';
comment on column farewatch.place_renumberings.previous_id is 'The id that the list lacked.';
comment on column farewatch.place_renumberings.place_id is 'The id that took its place.';
comment on column farewatch.place_renumberings.durable_id is 'Durable key: the first id of the place, which its successors keep.';
comment on column farewatch.place_renumberings.routes is 'Live routes of the previous id before the list.';
comment on column farewatch.place_renumberings.routes_taken_over is 'Those of them that the list has under the other id, by the codes of their other ends.';
comment on column farewatch.place_renumberings.sync_run_id is 'The run of the list.';
comment on column farewatch.place_renumberings.valid_at is 'The valid time of that run.';

-- Grouped, so that a query without these columns leaves out the join with it.
create view renumbered_place as
with renumbering as materialized (
       select place_id, durable_id, valid_at from farewatch.place_renumberings)
select m.place_id, min(m.durable_id) as durable_id, min(l.place_id) as present_id
  from (select place_id, durable_id from renumbering
        union all select durable_id, durable_id from renumbering) m
  join (select distinct on (durable_id) durable_id, place_id
          from renumbering
         order by durable_id, valid_at desc) l on l.durable_id = m.durable_id
 group by m.place_id;
comment on view renumbered_place is 'The ids of each place that was renumbered, with its first id and its present one. Another place has no row.';

create or replace view farewatch.places as
select p.place_id, p.iata, p.city, p.country,
       a.country as iso_country, a.continent, a.latitude, a.longitude, a.zone,
       (select min(v.valid_from) from place_version v where v.place_id = p.place_id) as first_seen_at,
       case when exists (select from route_version v where v.departure_id = p.place_id and v.valid_to is null)
              or exists (select from route_version v where v.destination_id = p.place_id and v.valid_to is null)
            then (select max(coalesce(r.arrived_at, r.fetched_at)) from sync_run r
                   where r.list = 'routes' and r.status in ('applied', 'unchanged', 'approved'))
            else greatest((select max(v.last_seen_at) from route_version v where v.departure_id = p.place_id),
                          (select max(v.last_seen_at) from route_version v where v.destination_id = p.place_id))
       end as last_seen_at,
       coalesce(d.durable_id, p.place_id) as durable_id,
       nullif(d.present_id, p.place_id) as successor_id
  from place_version p
  left join airport a on a.iata = upper(p.iata)
  left join renumbered_place d on d.place_id = p.place_id
 where p.valid_to is null;

create view durable_route_version as
with place as materialized (
       select s.place_id, coalesce(d.durable_id, s.place_id) as durable_id
         from place_of_shared_code s
         left join renumbered_place d on d.place_id = s.place_id)
select f.durable_id as departure_id, coalesce(t.durable_id, h.destination_id) as destination_id,
       tstzrange(h.valid_from, h.valid_to) as span, h.changed_at, h.written_in,
       h.departure_id as departure_then, h.destination_id as destination_then, h.added_run_id, h.removed_run_id
  from place f
  join farewatch.route_history h on h.departure_id = f.place_id
  left join place t on t.place_id = h.destination_id
union all
select h.departure_id, t.durable_id, tstzrange(h.valid_from, h.valid_to), h.changed_at, h.written_in,
       h.departure_id, h.destination_id, h.added_run_id, h.removed_run_id
  from place t
  join farewatch.route_history h on h.destination_id = t.place_id
 where h.departure_id not in (select place_id from place);
comment on view durable_route_version is 'The intervals of routes of places of shared codes, by durable keys.';

create or replace view farewatch.durable_route_history as
(select departure_id, destination_id, valid_from, valid_to, is_current, changed_at, row_key, written_in, 1 as intervals
   from farewatch.route_history h
  where h.departure_id not in (select place_id from place_of_shared_code)
    and h.destination_id not in (select place_id from place_of_shared_code)
  order by departure_id, destination_id, valid_from)
union all
select departure_id, destination_id, lower(span), upper(span), upper_inf(span), changed_at,
       md5(jsonb_build_array(departure_id, destination_id, extract(epoch from lower(span)))::text), written_in, intervals
  from (with version as materialized (select * from durable_route_version)
        select c.departure_id, c.destination_id, c.span, max(v.changed_at) as changed_at, max(v.written_in) as written_in,
               count(*)::integer as intervals
          from (select departure_id, destination_id, unnest(range_agg(span)) as span
                  from version
                 group by departure_id, destination_id) c
          join version v on (v.departure_id, v.destination_id) = (c.departure_id, c.destination_id) and v.span <@ c.span
         group by c.departure_id, c.destination_id, c.span) m;

-- Before such an addition, and after such a removal, the route is live under other ids.
create view renumbered_change as
with version as materialized (select * from durable_route_version)
select 'route_added' as kind, v.departure_then as departure_id, v.destination_then as destination_id, v.added_run_id as sync_run_id
  from version v
 where exists (select from version o
                where (o.departure_id, o.destination_id) = (v.departure_id, v.destination_id)
                  and lower(o.span) < lower(v.span) and coalesce(upper(o.span), 'infinity') >= lower(v.span))
union all
select 'route_removed', v.departure_then, v.destination_then, v.removed_run_id
  from version v
 where exists (select from version o
                where (o.departure_id, o.destination_id) = (v.departure_id, v.destination_id)
                  and lower(o.span) <= upper(v.span) and coalesce(upper(o.span), 'infinity') > upper(v.span));
comment on view renumbered_change is 'Additions and removals of routes that go on under other ids.';

-- Comments outlive the columns that go.
create temporary table view_comment on commit drop as
select attrelid::regclass::text as of_view, attname as of_column, col_description(attrelid, attnum) as text
  from pg_attribute
 where attrelid in ('farewatch.sync_runs'::regclass, 'farewatch.route_changes'::regclass) and attnum > 0
union all
select c::regclass::text, null, obj_description(c::regclass)
  from (values ('farewatch.sync_runs'), ('farewatch.route_changes')) v (c);

drop view farewatch.route_changes;
create view farewatch.route_changes as
select c.seq, c.id, c.kind, c.departure_id, c.destination_id, c.place_id, c.before, c.after,
       c.last_seen_at, c.first_missed_at, c.recorded_at, c.sync_run_id,
       r.fetched_at as valid_at,
       (select p.iata from place_version p
         where p.place_id = c.departure_id and p.valid_from <= r.fetched_at
           and (p.valid_to > r.fetched_at or p.valid_to is null)) as departure_iata,
       (select p.city from place_version p
         where p.place_id = c.departure_id and p.valid_from <= r.fetched_at
           and (p.valid_to > r.fetched_at or p.valid_to is null)) as departure_city,
       (select p.country from place_version p
         where p.place_id = c.departure_id and p.valid_from <= r.fetched_at
           and (p.valid_to > r.fetched_at or p.valid_to is null)) as departure_country,
       (select p.iata from place_version p
         where p.place_id = c.destination_id and p.valid_from <= r.fetched_at
           and (p.valid_to > r.fetched_at or p.valid_to is null)) as destination_iata,
       (select p.city from place_version p
         where p.place_id = c.destination_id and p.valid_from <= r.fetched_at
           and (p.valid_to > r.fetched_at or p.valid_to is null)) as destination_city,
       (select p.country from place_version p
         where p.place_id = c.destination_id and p.valid_from <= r.fetched_at
           and (p.valid_to > r.fetched_at or p.valid_to is null)) as destination_country,
       c.kind in ('route_added', 'route_removed')
         and (c.kind, c.departure_id, c.destination_id, c.sync_run_id)
               in (select kind, departure_id, destination_id, sync_run_id from renumbered_change) as renumbered
  from route_change c
  left join sync_run r on r.id = c.sync_run_id
 where c.seq + 0 >= (select first_seq from feed_head where feed = 'route');

create or replace view farewatch.daily_route_churn as
with change as materialized (
       select (valid_at at time zone 'UTC')::date as day, kind, renumbered from farewatch.route_changes)
select c.day, c.added, c.removed, c.gained, c.lost, c.places_changed, coalesce(n.places, 0) as places_renumbered,
       c.added_renumbered, c.removed_renumbered
  from (select day,
               count(*) filter (where kind = 'route_added') as added,
               count(*) filter (where kind = 'route_removed') as removed,
               count(*) filter (where kind = 'route_gained_availability') as gained,
               count(*) filter (where kind = 'route_lost_availability') as lost,
               count(*) filter (where kind = 'place_changed') as places_changed,
               count(*) filter (where kind = 'route_added' and renumbered) as added_renumbered,
               count(*) filter (where kind = 'route_removed' and renumbered) as removed_renumbered
          from change
         group by day) c
  left join (select (valid_at at time zone 'UTC')::date as day, count(*) as places
               from farewatch.place_renumberings
              group by day) n on n.day = c.day;

drop view farewatch.sync_runs;
create view farewatch.sync_runs as
select id, list, status, baseline, reason_code, reason, started_at, fetched_at as valid_at, finished_at,
       bytes, content_hash, fetched, duplicates, conflicting_places, unknown_pairs,
       live, added, removed, returned, pending_absences, places_changed, gained, lost, durations_ms,
       review_id, resolution, resolved_at, resolved_by, not_modified, coalesce(arrived_at, fetched_at) as arrived_at,
       would_add, would_remove, pending_places,
       written_in::text::bigint as written_in
  from sync_run
 where status is not null;

do $$
declare
  c record;
begin
  for c in select v.* from view_comment v
             left join pg_attribute a on a.attrelid = v.of_view::regclass and a.attname = v.of_column
            where v.text is not null and (v.of_column is null or a.attname is not null) loop
    if c.of_column is null then execute format('comment on view %s is %L', c.of_view, c.text);
    else execute format('comment on column %s.%I is %L', c.of_view, c.of_column, c.text);
    end if;
  end loop;
end;
$$;
comment on column farewatch.route_changes.kind is 'route_added, route_removed, route_gained_availability, route_lost_availability or place_changed.';
comment on column farewatch.route_changes.place_id is 'The place of place_changed; null for routes.';
comment on column farewatch.route_changes.before is 'What held before: {available} of a route, {iata, city, country} of a place; null for route_added.';
comment on column farewatch.route_changes.renumbered is 'Whether an addition or a removal follows from a renumbering: the route itself neither began nor ended.';
grant select on farewatch.place_renumberings, farewatch.route_changes, farewatch.sync_runs to farewatch_analyst;

drop view renumbered_route_version, durable_place;
drop table place_renumbering;
alter table sync_run drop column places_renumbered;

-- The records of renumberings keep their numbers, and say that a place stayed as it is.
drop index route_change_previous_place;
alter table route_change
  drop column renumbered,
  drop constraint route_change_kind_check,
  drop constraint route_change_check;
update route_change
   set kind = 'place_changed', before = after - 'id', after = after - 'id'
 where kind = 'place_renumbered';
alter table route_change
  add constraint route_change_kind_check
    check (kind in ('route_added', 'route_removed', 'route_gained_availability', 'route_lost_availability', 'place_changed')),
  add constraint route_change_check check ((kind = 'place_changed') = (place_id is not null));
delete from daily_delays where kind = 'place_renumbered';

-- JavaScript's trim and normalize, which the reader of lists uses.
create function pg_temp.normalized(t text) returns text language sql immutable
return normalize(btrim(t, U&' \0009\000A\000B\000C\000D\00A0\1680\2000\2001\2002\2003\2004\2005\2006\2007\2008\2009\200A\2028\2029\202F\205F\3000\FEFF'), NFC);
update place_version
   set iata = pg_temp.normalized(iata), city = pg_temp.normalized(city), country = pg_temp.normalized(country),
       written_in = pg_current_xact_id()
 where valid_to is null
   and (iata, city, country) <> (pg_temp.normalized(iata), pg_temp.normalized(city), pg_temp.normalized(country));
update pending_place
   set iata = pg_temp.normalized(iata), city = pg_temp.normalized(city), country = pg_temp.normalized(country);
delete from pending_place p
 using place_version v
 where v.valid_to is null and (v.place_id, v.iata, v.city, v.country) = (p.place_id, p.iata, p.city, p.country);
drop function pg_temp.normalized;
comment on column place_code.place_id is 'Null where the last list has several places with the code, or none of several.';
