-- older code: must stop
-- Runs of the two lists, the lists themselves as long as they are needed, and when each is due.
-- A run without a status is in progress, or its process died.

create table sync_run (
  id                 bigint      generated always as identity primary key,
  list               text        not null check (list in ('routes', 'with-availability')),
  status             text       
                        check (status in ('applied', 'unchanged', 'held', 'rejected', 'failed', 'approved',
                          'dropped')),
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
  review_id          bigint      references sync_run,
  resolution         text        check (resolution in ('approved', 'rejected', 'normal_list', 'agreed', 'superseded')),
  resolved_at        timestamptz,
  resolved_by        bigint      references sync_run,
  not_modified       boolean     not null default false,
  etag               text,
  last_modified      text,
  arrived_at         timestamptz,
  would_add          integer,
  would_remove       integer,
  confirmations      integer     check (confirmations > 0),
  pending_places     integer,
  check ((status is null) = (finished_at is null))
);
comment on table sync_run is 'Every sync of a list: how it ended, why, and what it counted.';
comment on column sync_run.confirmations is 'Lists in a row that had to lack a route before this run removed it.';
-- Serves the newest first listing.
create index sync_run_started on sync_run (started_at desc);
-- Serves the run under way, and those that a dead process left behind.
create index sync_run_open on sync_run (list) where status is null;
-- Serves "what was accepted last", asked by every run.
create index sync_run_accepted on sync_run (list, fetched_at desc) where status in ('applied', 'unchanged', 'approved');
-- Serves the reviews that a suspicious list may join, and the listing of held runs.
create index sync_run_review on sync_run (list, review_id) where review_id is not null;
-- Serves the retention: which runs still need a list.
create index sync_run_content on sync_run (content_hash);

create table snapshot (
  content_hash text        primary key,
  bytes        bigint      not null,
  stored_bytes bigint      not null,
  kept_at      timestamptz not null default clock_timestamp()
);
comment on table snapshot is 'The lists that syncs fetched, each once by its hash, for as long as replays and reviews need them.';
comment on column snapshot.kept_at is 'When a run last brought this list: the retention counts from here.';

create table snapshot_part (
  content_hash text    not null references snapshot on delete cascade,
  part         integer not null,
  content      bytea   not null,
  primary key (content_hash, part)
);
alter table snapshot_part alter column content set storage external;
comment on table snapshot_part is 'The bodies of the snapshots, in parts.';

create table schedule (
  name        text        primary key,
  cron        text        not null,
  next_due_at timestamptz not null,
  last_due_at timestamptz
);
comment on table schedule is 'When each list is due next.';
