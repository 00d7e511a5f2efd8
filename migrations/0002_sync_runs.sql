-- older code: may run
-- One row a run of a list. A run without a status is under way, or its process died.

create table sync_run (
  id                 bigint      generated always as identity primary key,
  list               text        not null check (list in ('routes', 'with-availability')),
  status             text        check (status in ('applied', 'unchanged', 'held', 'rejected', 'failed', 'approved', 'dropped')),
  baseline           boolean     not null default false,
  reason_code        text,
  reason             text,
  started_at         timestamptz not null default clock_timestamp(),
  fetched_at         timestamptz,
  finished_at        timestamptz,
  bytes              bigint,
  content_hash       text,
  fetched            integer,
  duplicates         integer,
  conflicting_places integer,
  unknown_pairs      integer,
  live               integer,
  added              integer,
  removed            integer,
  returned           integer,
  pending_absences   integer,
  places_changed     integer,
  gained             integer,
  lost               integer,
  durations_ms       jsonb       not null default '{}',
  check ((status is null) = (finished_at is null))
);

-- Serves "what was accepted last", asked by every run.
create index sync_run_accepted on sync_run (list, fetched_at desc) where status in ('applied', 'unchanged');
-- Serves the newest first listing.
create index sync_run_started on sync_run (started_at desc);
-- Serves the run under way, and those that a dead process left behind.
create index sync_run_open on sync_run (list) where status is null;
