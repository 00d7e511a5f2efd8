-- older code: may run
-- The public SQL on routes: views over the private tables, readable by farewatch_analyst.

create view farewatch.route_history as
select departure_id, destination_id, valid_from, valid_to
  from route_version;
comment on view farewatch.route_history is 'When each route existed: one row an interval, [valid_from, valid_to).';
comment on column farewatch.route_history.departure_id is 'Identity of the departure place.';
comment on column farewatch.route_history.destination_id is 'Identity of the destination place.';
comment on column farewatch.route_history.valid_from is 'When the snapshot was fetched that added the route.';
comment on column farewatch.route_history.valid_to is 'When the snapshot was fetched that confirmed its removal; null while it is live.';

create view farewatch.route_availability_history as
select departure_id, destination_id, available, valid_from, valid_to
  from route_availability_version;
comment on view farewatch.route_availability_history is 'When each route was listed as available: one row an interval, [valid_from, valid_to). No row: not known yet.';
comment on column farewatch.route_availability_history.departure_id is 'Identity of the departure place.';
comment on column farewatch.route_availability_history.destination_id is 'Identity of the destination place.';
comment on column farewatch.route_availability_history.available is 'Whether the with-availability list held the route; a loss counts once it is confirmed.';
comment on column farewatch.route_availability_history.valid_from is 'When the snapshot was fetched that said so.';
comment on column farewatch.route_availability_history.valid_to is 'When the snapshot was fetched that ended it, or the route''s own end; null while it holds.';

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

create view farewatch.routes_current as
select r.departure_id, d.iata as departure_iata, d.city as departure_city, d.country as departure_country,
       r.destination_id, a.iata as destination_iata, a.city as destination_city, a.country as destination_country,
       r.valid_from as since, v.available
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
comment on column farewatch.routes_current.since is 'When the snapshot was fetched that added the route, this time.';
comment on column farewatch.routes_current.available is 'Whether it is listed as available; null until an accepted with-availability list has spoken of it.';

-- A function over views: it runs with the caller's rights, and needs no more than theirs.
create function farewatch.routes_as_of(instant timestamptz)
returns table (
  departure_id text, departure_iata text, departure_city text, departure_country text,
  destination_id text, destination_iata text, destination_city text, destination_country text,
  since timestamptz, available boolean
)
language sql stable parallel safe
begin atomic
  select r.departure_id, d.iata, d.city, d.country,
         r.destination_id, a.iata, a.city, a.country,
         r.valid_from, v.available
    from farewatch.route_history r
    join farewatch.place_history d
      on d.place_id = r.departure_id and d.valid_from <= instant and (d.valid_to is null or d.valid_to > instant)
    join farewatch.place_history a
      on a.place_id = r.destination_id and a.valid_from <= instant and (a.valid_to is null or a.valid_to > instant)
    left join farewatch.route_availability_history v
           on (v.departure_id, v.destination_id) = (r.departure_id, r.destination_id)
          and v.valid_from <= instant and (v.valid_to is null or v.valid_to > instant)
   where r.valid_from <= instant and (r.valid_to is null or r.valid_to > instant);
end;
comment on function farewatch.routes_as_of(timestamptz) is 'The routes as they stood at an instant, in the columns of routes_current. The answer for a past instant never changes.';

create view farewatch.route_changes as
select seq, id, kind, departure_id, destination_id, place_id, before, after,
       last_seen_at, first_missed_at, recorded_at, sync_run_id
  from route_change;
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

create view farewatch.sync_runs as
select id, list, status, baseline, reason_code, reason, started_at, fetched_at, finished_at,
       bytes, content_hash, fetched, duplicates, conflicting_places, unknown_pairs,
       live, added, removed, returned, pending_absences, places_changed, gained, lost, durations_ms
  from sync_run
 where status is not null;
comment on view farewatch.sync_runs is 'One row a finished run of a list, whatever came of it.';
comment on column farewatch.sync_runs.id is 'The run.';
comment on column farewatch.sync_runs.list is 'routes or with-availability.';
comment on column farewatch.sync_runs.status is 'applied, unchanged (the bytes of the last applied list again), held (suspicious, nothing applied), rejected (not a list), failed (no list), approved or dropped (once held).';
comment on column farewatch.sync_runs.baseline is 'Whether this was the first accepted snapshot of its list: history, but no changes.';
comment on column farewatch.sync_runs.reason_code is 'Why it was held, rejected, failed, or dropped; stable, for machines.';
comment on column farewatch.sync_runs.reason is 'The same for people.';
comment on column farewatch.sync_runs.started_at is 'When the run began.';
comment on column farewatch.sync_runs.fetched_at is 'When the whole list had arrived: the valid time of what the run applied.';
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

create view farewatch.route_churn_daily as
select (r.fetched_at at time zone 'UTC')::date as day,
       count(*) filter (where c.kind = 'route_added') as added,
       count(*) filter (where c.kind = 'route_removed') as removed,
       count(*) filter (where c.kind = 'route_gained_availability') as gained,
       count(*) filter (where c.kind = 'route_lost_availability') as lost,
       count(*) filter (where c.kind = 'place_changed') as places_changed
  from route_change c
  join sync_run r on r.id = c.sync_run_id
 group by 1;
comment on view farewatch.route_churn_daily is 'Confirmed changes by the UTC day of the list that confirmed them. A day without any has no row.';
comment on column farewatch.route_churn_daily.day is 'The day, in UTC.';
comment on column farewatch.route_churn_daily.added is 'Routes added.';
comment on column farewatch.route_churn_daily.removed is 'Routes removed.';
comment on column farewatch.route_churn_daily.gained is 'Routes that gained availability.';
comment on column farewatch.route_churn_daily.lost is 'Routes that lost availability.';
comment on column farewatch.route_churn_daily.places_changed is 'Places whose attributes changed.';

grant select on farewatch.route_history, farewatch.route_availability_history, farewatch.place_history,
                farewatch.routes_current, farewatch.route_changes, farewatch.sync_runs,
                farewatch.route_churn_daily
   to farewatch_analyst;
