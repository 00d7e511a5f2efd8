-- older code: must stop
-- Places that a list gives under another id are recognised, and their histories go on.
-- The id stays the identity. Which ids have been one place is kept beside it, so that changes of ids can be told from
-- changes of the network. Older code would not mark the changes that follow. Lists that were applied before this
-- migration are not searched: renumberings count from the first list after it.

create table place_renumbering (
  change_id         uuid    primary key default uuidv7(),
  previous_id       text    not null,
  place_id          text    not null,
  durable_id        text    not null,
  routes            integer not null,
  routes_taken_over integer not null,
  sync_run_id       bigint  not null references sync_run,
  check (previous_id <> place_id)
);
comment on table place_renumbering is 'Places that a list gave under another id.';
comment on column place_renumbering.change_id is 'The id of the record place_renumbered, which an archive may have moved.';
comment on column place_renumbering.durable_id is 'The first id of the place. It never changes: a place has no other id before it is recorded here.';
comment on column place_renumbering.routes is 'Routes of the previous id that were live.';
comment on column place_renumbering.routes_taken_over is 'Those of them that the list has under the other id, by the codes of their other ends.';
-- Serves the changes of one run.
create index place_renumbering_run on place_renumbering (sync_run_id);

create view durable_place as
select m.place_id, m.durable_id, l.place_id as present_id, l.change_id
  from (select place_id, durable_id from place_renumbering
        union select durable_id, durable_id from place_renumbering) m
  join (select distinct on (durable_id) durable_id, place_id, change_id
          from place_renumbering
         order by durable_id, sync_run_id desc) l on l.durable_id = m.durable_id;
comment on view durable_place is 'The ids of each place that was renumbered, with its first id, its present one and its last renumbering. Another place has no row.';

alter table route_change add column renumbered uuid;
comment on column route_change.renumbered is 'The id of the renumbering that the change follows from.';
alter table route_change drop constraint route_change_kind_check;
alter table route_change add constraint route_change_kind_check
  check (kind in ('route_added', 'route_removed', 'route_gained_availability', 'route_lost_availability',
                  'place_changed', 'place_renumbered'));
alter table route_change drop constraint route_change_check;
alter table route_change add constraint route_change_check
  check ((kind in ('place_changed', 'place_renumbered')) = (place_id is not null));
-- Serves the changes of one place under its previous id.
create index route_change_previous_place on route_change ((before ->> 'id'), seq) where kind = 'place_renumbered';

alter table sync_run add column places_renumbered integer;

create or replace view farewatch.sync_runs as
select id, list, status, baseline, reason_code, reason, started_at, fetched_at as valid_at, finished_at,
       bytes, content_hash, fetched, duplicates, conflicting_places, unknown_pairs,
       live, added, removed, returned, pending_absences, places_changed, gained, lost, durations_ms,
       review_id, resolution, resolved_at, resolved_by, not_modified, coalesce(arrived_at, fetched_at) as arrived_at,
       would_add, would_remove, pending_places,
       written_in::text::bigint as written_in, places_renumbered
  from sync_run
 where status is not null;
comment on column farewatch.sync_runs.places_renumbered is 'Places that this run recognised under other ids. Null of runs of earlier versions.';

create or replace view farewatch.places as
select p.place_id, p.iata, p.city, p.country,
       a.country as iso_country, a.continent, a.latitude, a.longitude, a.zone,
       (select min(v.valid_from) from place_version v where v.place_id = p.place_id) as first_seen_at,
       case when exists (select from route_version v where v.departure_id = p.place_id and v.valid_to is null)
              or exists (select from route_version v where v.destination_id = p.place_id and v.valid_to is null)
            then (select max(r.arrived_at) from farewatch.sync_runs r
                   where r.list = 'routes' and r.status in ('applied', 'unchanged', 'approved'))
            else greatest((select max(v.last_seen_at) from route_version v where v.departure_id = p.place_id),
                          (select max(v.last_seen_at) from route_version v where v.destination_id = p.place_id))
       end as last_seen_at,
       coalesce(d.durable_id, p.place_id) as durable_id,
       nullif(d.present_id, p.place_id) as successor_id
  from place_version p
  left join airport a on a.iata = upper(p.iata)
  left join durable_place d on d.place_id = p.place_id
 where p.valid_to is null;
comment on column farewatch.places.durable_id is 'Durable key: the first id of the place, which its successors keep.';
comment on column farewatch.places.successor_id is 'The present id of the place, where it was renumbered. Null: this is the present one.';

create view farewatch.place_renumberings as
select n.change_id, n.previous_id, n.place_id, n.durable_id, n.routes, n.routes_taken_over, n.sync_run_id, r.fetched_at as valid_at
  from place_renumbering n
  join sync_run r on r.id = n.sync_run_id;
comment on view farewatch.place_renumberings is 'Places that a list gave under another id: the same code and country, and more than half of the routes.';
comment on column farewatch.place_renumberings.change_id is 'The id of the record place_renumbered in route_changes.';
comment on column farewatch.place_renumberings.previous_id is 'The id that the list lacked.';
comment on column farewatch.place_renumberings.place_id is 'The id that took its place.';
comment on column farewatch.place_renumberings.durable_id is 'Durable key: the first id of the place, which its successors keep.';
comment on column farewatch.place_renumberings.routes is 'Live routes of the previous id before the list.';
comment on column farewatch.place_renumberings.routes_taken_over is 'Those of them that the list has under the other id, by the codes of their other ends.';
comment on column farewatch.place_renumberings.sync_run_id is 'The run that recognised it.';
comment on column farewatch.place_renumberings.valid_at is 'The valid time of that run.';

create view renumbered_route_version as
select f.durable_id as departure_id, coalesce(t.durable_id, h.destination_id) as destination_id,
       tstzrange(h.valid_from, h.valid_to) as span, h.changed_at, h.written_in
  from durable_place f
  join farewatch.route_history h on h.departure_id = f.place_id
  left join durable_place t on t.place_id = h.destination_id
union all
select h.departure_id, t.durable_id, tstzrange(h.valid_from, h.valid_to), h.changed_at, h.written_in
  from durable_place t
  join farewatch.route_history h on h.destination_id = t.place_id
 where not exists (select from durable_place f where f.place_id = h.departure_id);
comment on view renumbered_route_version is 'The intervals of routes of renumbered places, by durable keys.';

-- Few routes have an end that was renumbered. All others are passed on as they are. An interval keeps its row_key when its route goes on
-- under other ids.
-- Without a WITH around its union: the planner then computes only the columns and rows that a query reads. With its order,
-- which an index has, questions about all routes need neither sort nor hash a million of them.
create view farewatch.durable_route_history as
(select departure_id, destination_id, valid_from, valid_to, is_current, changed_at, row_key, written_in, 1 as intervals
   from farewatch.route_history h
  where not exists (select from durable_place d where d.place_id = h.departure_id)
    and not exists (select from durable_place d where d.place_id = h.destination_id)
  order by departure_id, destination_id, valid_from)
union all
select c.departure_id, c.destination_id, lower(c.span), upper(c.span), upper_inf(c.span), max(r.changed_at),
       md5(jsonb_build_array(c.departure_id, c.destination_id, extract(epoch from lower(c.span)))::text), max(r.written_in), count(*)::integer
  from (select departure_id, destination_id, unnest(range_agg(span)) as span from renumbered_route_version group by 1, 2) c
  join renumbered_route_version r on (r.departure_id, r.destination_id) = (c.departure_id, c.destination_id) and r.span <@ c.span
 group by c.departure_id, c.destination_id, c.span;
comment on view farewatch.durable_route_history is 'route_history by durable keys: a route whose places were renumbered goes on. Intervals that overlap or touch are coalesced into one.';
comment on column farewatch.durable_route_history.departure_id is 'Durable key of the departure place: its first id. It is places.durable_id.';
comment on column farewatch.durable_route_history.destination_id is 'Durable key of the destination place.';
comment on column farewatch.durable_route_history.valid_from is 'When the snapshot was fetched that added the route, under any ids.';
comment on column farewatch.durable_route_history.valid_to is 'When the snapshot was fetched that confirmed its removal; null while it is live under any ids.';
comment on column farewatch.durable_route_history.is_current is 'Whether the interval still holds.';
comment on column farewatch.durable_route_history.changed_at is 'When an interval of it was written last.';
comment on column farewatch.durable_route_history.row_key is 'Identity of the interval: it stays when the interval ends.';
comment on column farewatch.durable_route_history.written_in is 'The transaction that wrote an interval of it last. Rows of transactions below pg_snapshot_xmin(pg_current_snapshot()) are final: none appears later under a smaller number.';
comment on column farewatch.durable_route_history.intervals is 'How many intervals of route_history it has: more than one if the route went on under other ids.';

create or replace view farewatch.history_starts as
select n.view_name, case when coalesce(h.first_seq, 2) > 1 then a.complete_from end as complete_from, h.first_seq
  from (values ('route_history', null), ('durable_route_history', null), ('route_availability_history', null), ('fare_history', null),
               ('route_changes', 'route'), ('availability_changes', 'availability')) n (view_name, feed)
  left join feed_head h on h.feed = n.feed
 cross join (select max(before) as complete_from from archive where applied_at is not null) a;

create or replace view farewatch.route_changes as
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
       c.renumbered
  from route_change c
  left join sync_run r on r.id = c.sync_run_id
 where c.seq + 0 >= (select first_seq from feed_head where feed = 'route');
comment on column farewatch.route_changes.kind is 'route_added, route_removed, route_gained_availability, route_lost_availability, place_changed or place_renumbered.';
comment on column farewatch.route_changes.departure_id is 'Departure place of the route; null for changes of places.';
comment on column farewatch.route_changes.destination_id is 'Destination place of the route; null for changes of places.';
comment on column farewatch.route_changes.place_id is 'The place of place_changed, the other id of place_renumbered; null for routes.';
comment on column farewatch.route_changes.before is 'What held before: {available} of a route, {iata, city, country} of a place, with its id where it was renumbered; null for route_added.';
comment on column farewatch.route_changes.renumbered is 'The id of the record place_renumbered that an addition or a removal follows from: the route itself neither began nor ended. Null for all others.';

create or replace view farewatch.daily_route_churn as
select (r.fetched_at at time zone 'UTC')::date as day,
       count(*) filter (where c.kind = 'route_added') as added,
       count(*) filter (where c.kind = 'route_removed') as removed,
       count(*) filter (where c.kind = 'route_gained_availability') as gained,
       count(*) filter (where c.kind = 'route_lost_availability') as lost,
       count(*) filter (where c.kind = 'place_changed') as places_changed,
       count(*) filter (where c.kind = 'place_renumbered') as places_renumbered,
       count(*) filter (where c.kind = 'route_added' and c.renumbered is not null) as added_renumbered,
       count(*) filter (where c.kind = 'route_removed' and c.renumbered is not null) as removed_renumbered
  from route_change c
  join sync_run r on r.id = c.sync_run_id
 where c.seq + 0 >= (select first_seq from feed_head where feed = 'route')
 group by 1;
comment on column farewatch.daily_route_churn.places_renumbered is 'Places that came under other ids.';
comment on column farewatch.daily_route_churn.added_renumbered is 'Those among the added routes that follow from a renumbering: churn is added less these.';
comment on column farewatch.daily_route_churn.removed_renumbered is 'Those among the removed routes that follow from a renumbering: churn is removed less these.';

grant select on farewatch.place_renumberings, farewatch.durable_route_history to farewatch_analyst;
