-- older code: must stop
-- The public SQL of lists, places and routes: views over the private tables, readable by farewatch_analyst.
-- Functions over views need no right but those of the caller.

-- Runs of an early version have no arrived_at: they were dated by their arrival.
create view farewatch.sync_runs as
select id, list, status, baseline, reason_code, reason, started_at, fetched_at as valid_at, finished_at,
       bytes, content_hash, fetched, duplicates, conflicting_places, unknown_pairs,
       live, added, removed, returned, pending_absences, places_changed, gained, lost, durations_ms,
       review_id, resolution, resolved_at, resolved_by, not_modified, coalesce(arrived_at, fetched_at) as arrived_at,
       would_add, would_remove, pending_places
  from sync_run
 where status is not null;
comment on view farewatch.sync_runs is 'One row a finished run of a list, whatever came of it.';
comment on column farewatch.sync_runs.id is 'The run.';
comment on column farewatch.sync_runs.list is 'routes or with-availability.';
comment on column farewatch.sync_runs.status is 'applied, unchanged (the bytes of the last applied list again), held (suspicious, nothing applied), rejected (not a list), failed (no list), approved or dropped (once held).';
comment on column farewatch.sync_runs.baseline is 'Whether this was the first accepted snapshot of its list: history, but no changes.';
comment on column farewatch.sync_runs.reason_code is 'Why it was held, rejected or failed, also once it is approved or dropped; of an applied run: agreed, where three lists released it. Stable, for machines.';
comment on column farewatch.sync_runs.reason is 'The same for people.';
comment on column farewatch.sync_runs.started_at is 'When the run began.';
comment on column farewatch.sync_runs.valid_at is 'The valid time of what the run applied: when the whole list had arrived, or when a person approved it; but later than every list accepted before.';
comment on column farewatch.sync_runs.finished_at is 'When the run ended.';
comment on column farewatch.sync_runs.bytes is 'Size of the list, decompressed.';
comment on column farewatch.sync_runs.content_hash is 'SHA-256 of those bytes, in hex.';
comment on column farewatch.sync_runs.fetched is 'Routes in the list, duplicates included.';
comment on column farewatch.sync_runs.duplicates is 'Routes that the list held more than once; they collapse.';
comment on column farewatch.sync_runs.conflicting_places is 'Places that the list gave with different attributes; known ones win, else the smallest.';
comment on column farewatch.sync_runs.unknown_pairs is 'with-availability: pairs that are not among the routes; they are counted, never created.';
comment on column farewatch.sync_runs.live is 'Live routes after the run; with-availability: available routes.';
comment on column farewatch.sync_runs.added is 'Routes that this run added (of a held run: would add).';
comment on column farewatch.sync_runs.removed is 'Routes whose removal this run confirmed.';
comment on column farewatch.sync_runs.returned is 'Routes that were absent, and back before the absence was confirmed.';
comment on column farewatch.sync_runs.pending_absences is 'Absences (with-availability: losses) awaiting confirmation after the run.';
comment on column farewatch.sync_runs.places_changed is 'Places whose attributes this run changed.';
comment on column farewatch.sync_runs.gained is 'Routes that became available by this run.';
comment on column farewatch.sync_runs.lost is 'Routes whose loss of availability this run confirmed.';
comment on column farewatch.sync_runs.durations_ms is 'Milliseconds by stage: fetch, stage, diff, apply.';
comment on column farewatch.sync_runs.review_id is 'Of a list that was suspicious: the first run of its review. Lists that agree share one.';
comment on column farewatch.sync_runs.resolution is 'What ended the review of a held run: approved or rejected by a person, normal_list (a list was applied that is not of its review), agreed (enough lists agreed with it), superseded (another held run was approved). Null while it is held.';
comment on column farewatch.sync_runs.resolved_at is 'When that was.';
comment on column farewatch.sync_runs.resolved_by is 'The run that ended it; null where a person did.';
comment on column farewatch.sync_runs.not_modified is 'Whether the upstream answered that its list was still the last accepted one, without sending it.';
comment on column farewatch.sync_runs.arrived_at is 'When the whole list had arrived, whatever became of it then. Null where none arrived.';
comment on column farewatch.sync_runs.would_add is 'Routes that a held list would have added when it was held; of with-availability, routes that it would have made available. Null for a list that was not held.';
comment on column farewatch.sync_runs.would_remove is 'Routes that a held list would have removed if it had been approved at once; of with-availability, routes that it would have made unavailable. Null for a list that was not held.';
comment on column farewatch.sync_runs.pending_places is 'Places whose new attributes await confirmation after the run.';

create view farewatch.place_history as
select place_id, iata, city, country, valid_from, valid_to
  from place_version;
comment on view farewatch.place_history is 'The attributes of each place: one row an interval, [valid_from, valid_to).';
comment on column farewatch.place_history.place_id is 'Identity of the place; everything else may change.';
comment on column farewatch.place_history.iata is 'Airport code; empty where the upstream gives none.';
comment on column farewatch.place_history.city is 'City name; may be empty.';
comment on column farewatch.place_history.country is 'Country name; may be empty.';
comment on column farewatch.place_history.valid_from is 'When the snapshot was fetched that showed these attributes first.';
comment on column farewatch.place_history.valid_to is 'When the snapshot was fetched that showed others; null while they hold.';

create view farewatch.places as
select p.place_id, p.iata, p.city, p.country,
       a.country as iso_country, a.continent, a.latitude, a.longitude, a.zone,
       (select min(v.valid_from) from place_version v where v.place_id = p.place_id) as first_seen_at,
       case when exists (select from route_version v where v.departure_id = p.place_id and v.valid_to is null)
              or exists (select from route_version v where v.destination_id = p.place_id and v.valid_to is null)
            then (select max(r.arrived_at) from farewatch.sync_runs r
                   where r.list = 'routes' and r.status in ('applied', 'unchanged', 'approved'))
            else greatest((select max(v.last_seen_at) from route_version v where v.departure_id = p.place_id),
                          (select max(v.last_seen_at) from route_version v where v.destination_id = p.place_id))
       end as last_seen_at
  from place_version p
  left join airport a on a.iata = upper(p.iata)
 where p.valid_to is null;
comment on view farewatch.places is 'Every place that a list has shown, with its present attributes and the facts of its airport.';
comment on column farewatch.places.place_id is 'Identity of the place.';
comment on column farewatch.places.iata is 'Airport code; empty where the upstream gives none.';
comment on column farewatch.places.city is 'City, as the upstream names it; may be empty.';
comment on column farewatch.places.country is 'Country, as the upstream names it; may be empty.';
comment on column farewatch.places.iso_country is 'Country of the airport with this code, ISO 3166-1 alpha-2. This and the next four columns are null where the code is unknown.';
comment on column farewatch.places.continent is 'AF, AN, AS, EU, NA, OC or SA.';
comment on column farewatch.places.latitude is 'Degrees north.';
comment on column farewatch.places.longitude is 'Degrees east.';
comment on column farewatch.places.zone is 'Time zone, by its IANA name.';
comment on column farewatch.places.first_seen_at is 'When the first list was fetched that showed the place.';
comment on column farewatch.places.last_seen_at is 'When the last accepted list arrived that showed a route of the place. While a route of it is live, that is the last accepted list.';

create view farewatch.route_history as
select departure_id, destination_id, valid_from, valid_to,
       last_seen_at, first_missed_at, added_by as added_run_id, removed_by as removed_run_id,
       valid_to is null as is_current, changed_at
  from route_version;
comment on view farewatch.route_history is 'When each route existed: one row an interval, [valid_from, valid_to).';
comment on column farewatch.route_history.departure_id is 'Identity of the departure place.';
comment on column farewatch.route_history.destination_id is 'Identity of the destination place.';
comment on column farewatch.route_history.valid_from is 'When the snapshot was fetched that added the route.';
comment on column farewatch.route_history.valid_to is 'When the snapshot was fetched that confirmed its removal; null while it is live.';
comment on column farewatch.route_history.last_seen_at is 'Fetch time of the last accepted list that showed the route, where it was removed: it ended after that. Null while it is live.';
comment on column farewatch.route_history.first_missed_at is 'Fetch time of the first accepted list without the route, where it was removed: it had ended by then.';
comment on column farewatch.route_history.added_run_id is 'The run that added the route.';
comment on column farewatch.route_history.removed_run_id is 'The run that confirmed its removal; null while it is live.';
comment on column farewatch.route_history.is_current is 'Whether the interval still holds.';
comment on column farewatch.route_history.changed_at is 'When the row was written last: at the beginning of the interval, and again at its end. An extraction reads what has a later value than the largest one that it has.';

create view farewatch.route_availability_history as
select departure_id, destination_id, available, valid_from, valid_to
  from route_availability_version;
comment on view farewatch.route_availability_history is 'When each route was listed as available: one row an interval, [valid_from, valid_to). No row: not known yet.';
comment on column farewatch.route_availability_history.departure_id is 'Identity of the departure place.';
comment on column farewatch.route_availability_history.destination_id is 'Identity of the destination place.';
comment on column farewatch.route_availability_history.available is 'Whether the with-availability list held the route; a loss counts once it is confirmed.';
comment on column farewatch.route_availability_history.valid_from is 'When the snapshot was fetched that said so.';
comment on column farewatch.route_availability_history.valid_to is 'When the snapshot was fetched that ended it, or the route''s own end; null while it holds.';

create view farewatch.routes_current as
select r.departure_id, d.iata as departure_iata, d.city as departure_city, d.country as departure_country,
       r.destination_id, a.iata as destination_iata, a.city as destination_city, a.country as destination_country,
       r.valid_from, v.available
  from route_version r
  join place_version d on d.place_id = r.departure_id and d.valid_to is null
  join place_version a on a.place_id = r.destination_id and a.valid_to is null
  left join route_availability_version v
         on (v.departure_id, v.destination_id) = (r.departure_id, r.destination_id) and v.valid_to is null
 where r.valid_to is null;
comment on view farewatch.routes_current is 'One row a live route.';
comment on column farewatch.routes_current.departure_id is 'Identity of the departure place.';
comment on column farewatch.routes_current.departure_iata is 'Airport code of the departure place; may be empty.';
comment on column farewatch.routes_current.departure_city is 'City of the departure place; may be empty.';
comment on column farewatch.routes_current.departure_country is 'Country of the departure place; may be empty.';
comment on column farewatch.routes_current.destination_id is 'Identity of the destination place.';
comment on column farewatch.routes_current.destination_iata is 'Airport code of the destination place; may be empty.';
comment on column farewatch.routes_current.destination_city is 'City of the destination place; may be empty.';
comment on column farewatch.routes_current.destination_country is 'Country of the destination place; may be empty.';
comment on column farewatch.routes_current.valid_from is 'When the snapshot was fetched that added the route, this time.';
comment on column farewatch.routes_current.available is 'Whether it is listed as available; null until an accepted with-availability list has spoken of it.';

create view farewatch.history_starts as
select n.view_name, case when coalesce(h.first_seq, 2) > 1 then a.complete_from end as complete_from, h.first_seq
  from (values ('route_history', null), ('route_availability_history', null), ('fare_history', null),
               ('route_changes', 'route'), ('availability_changes', 'availability')) n (view_name, feed)
  left join feed_head h on h.feed = n.feed
 cross join (select max(before) as complete_from from archive where applied_at is not null) a;
comment on view farewatch.history_starts is 'Where each history and feed begins, after farewatch archive has moved older rows to files.';
comment on column farewatch.history_starts.view_name is 'The view that it is about.';
comment on column farewatch.history_starts.complete_from is 'The view is complete for every instant since then. Null: nothing of it is archived.';
comment on column farewatch.history_starts.first_seq is 'Of a feed, the first number that it still has. Null for a history.';

create function farewatch.assert_kept(instant timestamptz)
returns boolean
language plpgsql stable parallel safe
as $$
declare
  begin_of_history timestamptz := (select complete_from from farewatch.history_starts where view_name = 'route_history');
begin
  if instant < begin_of_history then
    raise exception 'the history before % is archived', to_char(begin_of_history at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')
      using errcode = 'invalid_parameter_value', hint = 'Ask for a later instant, or read the files of the archive.';
  end if;
  return true;
end;
$$;
comment on function farewatch.assert_kept is 'True. Raises an error for an instant before the begin of the histories.';

-- Ranges give the planner bounds and lengths, so that it knows how many intervals hold an instant. The availability of a
-- route is a subquery, which PostgreSQL leaves out where a query does not use it. The last condition has no column: it is
-- checked once, before any row is read.
create function farewatch.routes_as_of(instant timestamptz)
returns table (
  departure_id text, departure_iata text, departure_city text, departure_country text,
  destination_id text, destination_iata text, destination_city text, destination_country text,
  valid_from timestamptz, available boolean
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
comment on function farewatch.routes_as_of(timestamptz) is 'The routes as they stood at an instant, in the columns of routes_current. The answer for a past instant never changes.';

create function farewatch.route_distance_km(departure text, destination text)
returns double precision
language sql stable strict parallel safe
begin atomic
  -- The haversine formula with the mean radius of the earth.
  select 2 * 6371.0088 * asin(sqrt(least(1,
           sin(radians(a.latitude - d.latitude) / 2) ^ 2
             + cos(radians(d.latitude)) * cos(radians(a.latitude)) * sin(radians(a.longitude - d.longitude) / 2) ^ 2)))
    from farewatch.places d, farewatch.places a
   where d.place_id = departure and a.place_id = destination
     and d.latitude is not null and a.latitude is not null;
end;
comment on function farewatch.route_distance_km(text, text) is 'Great-circle distance between two places, by their ids, in kilometres. Null where the position of either is unknown.';

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
           and (p.valid_to > r.fetched_at or p.valid_to is null)) as destination_country
  from route_change c
  left join sync_run r on r.id = c.sync_run_id;
comment on view farewatch.route_changes is 'Every confirmed change of a route or a place, once, in the order of seq. The first accepted snapshot is the baseline and makes none.';
comment on column farewatch.route_changes.seq is 'Dense number, in commit order: nothing appears later under a smaller one.';
comment on column farewatch.route_changes.id is 'Stable identity of the record.';
comment on column farewatch.route_changes.kind is 'route_added, route_removed, route_gained_availability, route_lost_availability or place_changed.';
comment on column farewatch.route_changes.departure_id is 'Departure place of the route; null for place_changed.';
comment on column farewatch.route_changes.destination_id is 'Destination place of the route; null for place_changed.';
comment on column farewatch.route_changes.place_id is 'The place of place_changed; null for routes.';
comment on column farewatch.route_changes.before is 'What held before: {available} of a route, {iata, city, country} of a place; null for route_added.';
comment on column farewatch.route_changes.after is 'What holds since, in the same shape; null for route_removed.';
comment on column farewatch.route_changes.last_seen_at is 'Fetch time of the last accepted snapshot that still showed "before"; the change happened after it.';
comment on column farewatch.route_changes.first_missed_at is 'Fetch time of the first accepted snapshot that no longer showed "before"; the change happened by then.';
comment on column farewatch.route_changes.recorded_at is 'When the record was written, in the transaction that changed the state.';
comment on column farewatch.route_changes.sync_run_id is 'The run that applied the change.';
comment on column farewatch.route_changes.valid_at is 'The instant from which on the change counts: the bound of the interval that it opens or closes.';
comment on column farewatch.route_changes.departure_iata is 'Airport code of the departure place at valid_at; may be empty. Null for place_changed.';
comment on column farewatch.route_changes.departure_city is 'City of the departure place at valid_at; may be empty.';
comment on column farewatch.route_changes.departure_country is 'Country of the departure place at valid_at; may be empty.';
comment on column farewatch.route_changes.destination_iata is 'Airport code of the destination place at valid_at; may be empty. Null for place_changed.';
comment on column farewatch.route_changes.destination_city is 'City of the destination place at valid_at; may be empty.';
comment on column farewatch.route_changes.destination_country is 'Country of the destination place at valid_at; may be empty.';

create view farewatch.daily_route_churn as
select (r.fetched_at at time zone 'UTC')::date as day,
       count(*) filter (where c.kind = 'route_added') as added,
       count(*) filter (where c.kind = 'route_removed') as removed,
       count(*) filter (where c.kind = 'route_gained_availability') as gained,
       count(*) filter (where c.kind = 'route_lost_availability') as lost,
       count(*) filter (where c.kind = 'place_changed') as places_changed
  from route_change c
  join sync_run r on r.id = c.sync_run_id
 group by 1;
comment on view farewatch.daily_route_churn is 'Confirmed changes by the UTC day from which on they count: of the list that confirmed them, or of its approval. A day without any has no row.';
comment on column farewatch.daily_route_churn.day is 'The day, in UTC.';
comment on column farewatch.daily_route_churn.added is 'Routes added.';
comment on column farewatch.daily_route_churn.removed is 'Routes removed.';
comment on column farewatch.daily_route_churn.gained is 'Routes that gained availability.';
comment on column farewatch.daily_route_churn.lost is 'Routes that lost availability.';
comment on column farewatch.daily_route_churn.places_changed is 'Places whose attributes changed.';

create view farewatch.daily_network as
select day, departure_country, live, available, known, added, removed
  from daily_network;
comment on view farewatch.daily_network is 'The network at the end of each UTC day, by country of departure, and what changed on the day. A country without live routes and changes has no row.';
comment on column farewatch.daily_network.day is 'The day, in UTC.';
comment on column farewatch.daily_network.departure_country is 'Country of the departure place: at the end of the day for the live routes, at valid_at for the changes. May be empty.';
comment on column farewatch.daily_network.live is 'Routes that were live at the end of the day.';
comment on column farewatch.daily_network.available is 'Those among them that were listed as available.';
comment on column farewatch.daily_network.known is 'Those among them whose availability was known.';
comment on column farewatch.daily_network.added is 'Routes that were added on the day.';
comment on column farewatch.daily_network.removed is 'Routes that were removed on the day.';

create view farewatch.daily_country_pairs as
select day, departure_country, destination_country, live, available
  from daily_country_pairs;
comment on view farewatch.daily_country_pairs is 'The network at the end of each UTC day, by country of departure and of destination.';
comment on column farewatch.daily_country_pairs.day is 'The day, in UTC.';
comment on column farewatch.daily_country_pairs.departure_country is 'Country of the departure place at the end of the day; may be empty.';
comment on column farewatch.daily_country_pairs.destination_country is 'Country of the destination place at the end of the day; may be empty.';
comment on column farewatch.daily_country_pairs.live is 'Routes that were live at the end of the day.';
comment on column farewatch.daily_country_pairs.available is 'Those among them that were listed as available.';

create view farewatch.daily_place_degree as
select day, place_id, destinations, origins
  from daily_place_degree;
comment on view farewatch.daily_place_degree is 'The number of routes from and to each place at the end of each UTC day. A place without live routes has no row.';
comment on column farewatch.daily_place_degree.day is 'The day, in UTC.';
comment on column farewatch.daily_place_degree.place_id is 'The place.';
comment on column farewatch.daily_place_degree.destinations is 'Live routes from the place.';
comment on column farewatch.daily_place_degree.origins is 'Live routes to the place.';

grant select on
  farewatch.sync_runs, farewatch.place_history, farewatch.places, farewatch.route_history,
  farewatch.route_availability_history, farewatch.routes_current, farewatch.history_starts, farewatch.route_changes,
  farewatch.daily_route_churn, farewatch.daily_network, farewatch.daily_country_pairs, farewatch.daily_place_degree
  to farewatch_analyst;
