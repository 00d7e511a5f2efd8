-- older code: may run
-- A place takes other attributes once accepted lists in a row give the same ones, as a route is removed once they lack it.
-- Until then lists of two versions, one after the other, changed the same places with every list. Older code changes places
-- at once and ignores what is pending, which the next list of newer code deletes.

create table pending_place (
  place_id        text        primary key,
  iata            text        not null,
  city            text        not null,
  country         text        not null,
  lists           integer     not null check (lists > 0),
  last_seen_at    timestamptz not null,
  first_missed_at timestamptz not null
);

-- Null for runs before this migration and for those of older code: these changed places at once, which a replay must know.
alter table sync_run add column pending_places integer;

create or replace view farewatch.sync_runs as
select id, list, status, baseline, reason_code, reason, started_at, fetched_at, finished_at,
       bytes, content_hash, fetched, duplicates, conflicting_places, unknown_pairs,
       live, added, removed, returned, pending_absences, places_changed, gained, lost, durations_ms,
       review_id, resolution, resolved_at, resolved_by, not_modified, coalesce(arrived_at, fetched_at) as arrived_at,
       would_add, would_remove, pending_places
  from sync_run
 where status is not null;
comment on column farewatch.sync_runs.pending_places is 'Places whose new attributes await confirmation after the run.';
