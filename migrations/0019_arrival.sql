-- older code: may run
-- When a list arrived, beside the valid time of what its run applied.
-- An approval comes hours after the list, and is dated by itself, so that the answer for a past instant stays.
-- Older code leaves the arrival out: it was `fetched_at`.

alter table sync_run add column arrived_at timestamptz;

-- What was approved before this was dated by its arrival, or by a millisecond after another list.
create or replace view farewatch.sync_runs as
select id, list, status, baseline, reason_code, reason, started_at, fetched_at, finished_at,
       bytes, content_hash, fetched, duplicates, conflicting_places, unknown_pairs,
       live, added, removed, returned, pending_absences, places_changed, gained, lost, durations_ms,
       review_id, resolution, resolved_at, resolved_by, not_modified, coalesce(arrived_at, fetched_at) as arrived_at
  from sync_run
 where status is not null;
comment on column farewatch.sync_runs.fetched_at is 'The valid time of what the run applied: when the whole list had arrived, or when a person approved it; but later than every list accepted before.';
comment on column farewatch.sync_runs.arrived_at is 'When the whole list had arrived, whatever became of it then. Null where none arrived.';
