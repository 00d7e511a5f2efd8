-- older code: may run
-- What a held list would add and remove, kept with its run whatever is decided.

alter table sync_run add column would_add integer, add column would_remove integer;

create or replace view farewatch.sync_runs as
select id, list, status, baseline, reason_code, reason, started_at, fetched_at, finished_at,
       bytes, content_hash, fetched, duplicates, conflicting_places, unknown_pairs,
       live, added, removed, returned, pending_absences, places_changed, gained, lost, durations_ms,
       review_id, resolution, resolved_at, resolved_by, not_modified, coalesce(arrived_at, fetched_at) as arrived_at,
       would_add, would_remove
  from sync_run
 where status is not null;
comment on column farewatch.sync_runs.would_add is 'Routes that a held list would have added when it was held; of with-availability, routes that it would have made available. Null for a list that was not held.';
comment on column farewatch.sync_runs.would_remove is 'Routes that a held list would have removed if it had been approved at once; of with-availability, routes that it would have made unavailable. Null for a list that was not held.';
