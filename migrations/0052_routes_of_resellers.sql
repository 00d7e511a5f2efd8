-- older code: must stop
-- Changes of routes in the feeds of resellers, and watches of routes. Older code would leave numbers of a feed out.

alter table reseller add routes jsonb;
comment on column reseller.routes is 'Which changes of routes its feed has: countries, places and pairs. Null: only those of its watches of routes.';

alter table route_change
  add route jsonb,
  add first_seen_at timestamptz;
comment on column route_change.route is 'Both places as they were then. Null in changes of places, in older records, and where the pair of codes was there before, or is there still, under other ids: such a change is in no feed of a reseller.';
comment on column route_change.first_seen_at is 'When the pair of codes was listed first.';

alter table watch
  alter tracked_fare_id drop not null,
  add departure text,
  add destination text,
  add either_direction boolean,
  add check (num_nonnulls(tracked_fare_id, departure) = 1),
  add check ((departure is null) = (destination is null)),
  add check (departure is not null or either_direction is null);
comment on column watch.departure is 'Of a watch of a route, the IATA code; null in a watch of a fare.';
comment on column watch.either_direction is 'Whether the route back is watched too.';
-- Serves the fan-out of a list to the watches of routes.
create index watch_route on watch (departure, destination) where departure is not null;

alter table watch_change
  alter watch_id drop not null,
  alter reference drop not null,
  add route_seq bigint references route_change,
  drop constraint watch_change_check,
  add check (num_nonnulls(change_id, watch_event_id, route_seq) = 1),
  add check ((watch_id is null) = (reference is null) and (watch_id is not null or route_seq is not null));
comment on column watch_change.watch_id is 'Null where the routes of the reseller alone chose the record.';
comment on column watch_change.route_seq is 'The change of a route or a place.';
-- Serves the deletion of route changes, and the question which of them are cited.
create index watch_change_route on watch_change (route_seq) where route_seq is not null;

create or replace view farewatch.watch_changes as
select w.reseller_id || ':' || w.seq as row_key, w.reseller_id, r.name as reseller, w.seq, w.watch_id, w.reference, w.list,
       coalesce(c.kind, e.kind, n.kind) as kind, coalesce(c.reason, e.reason) as reason,
       coalesce(c.schema_version, e.schema_version, 4) as schema_version,
       coalesce(c.tracked_fare_id, e.tracked_fare_id) as fare_id, w.change_id, w.watch_event_id,
       shown_belief(coalesce(c.before, e.before)) as belief_before, shown_belief(coalesce(c.after, e.after)) as belief,
       coalesce(c.last_good_check_at, e.last_good_check_at) as last_good_check_at,
       coalesce(c.detected_at, e.detected_at, n.first_missed_at) as detected_at, w.recorded_at, c.evidence_hash, c.provenance,
       w.written_in::text::bigint as written_in, w.route_seq
  from watch_change w
  join reseller r on r.id = w.reseller_id
  left join availability_change c on c.id = w.change_id
  left join watch_event e on e.id = w.watch_event_id
  left join route_change n on n.seq = w.route_seq
 where w.seq >= r.first_seq;
comment on column farewatch.watch_changes.watch_id is 'The watch that it is about; null where the routes that the reseller chose have it.';
comment on column farewatch.watch_changes.kind is 'watch_started, or a kind of availability_changes or route_changes.';
comment on column farewatch.watch_changes.fare_id is 'The fare of the watch; null in changes of routes.';
comment on column farewatch.watch_changes.detected_at is 'When the check began that found the change; of a route, when the list arrived.';
comment on column farewatch.watch_changes.route_seq is 'The record in route_changes; null for what happens to fares and watches.';
