-- older code: must stop
-- Kept lists, and the reviews of held runs. Older code would not build on a run that was approved.

-- One row a list that was applied or held, by the hash of its bytes.
create table snapshot (
  content_hash text        primary key,
  bytes        bigint      not null,
  stored_bytes bigint      not null,
  -- When a run last brought this list: the retention counts from here.
  kept_at      timestamptz not null default clock_timestamp()
);

-- The list's bytes, in order; each part is a gzip member of its own, so that writing and reading need one at a time.
create table snapshot_part (
  content_hash text    not null references snapshot on delete cascade,
  part         integer not null,
  content      bytea   not null,
  primary key (content_hash, part)
);
-- gzip leaves nothing for Postgres to compress.
alter table snapshot_part alter column content set storage external;

alter table sync_run
  -- The first run of the review that a held list belongs to: its own where it is the first.
  add column review_id     bigint references sync_run,
  add column resolution    text check (resolution in ('approved', 'rejected', 'normal_list', 'agreed', 'superseded')),
  add column resolved_at   timestamptz,
  -- The run whose list decided it; null where a person did.
  add column resolved_by   bigint references sync_run,
  add column not_modified  boolean not null default false,
  add column etag          text,
  add column last_modified text;

update sync_run set review_id = id where status in ('held', 'dropped');
update sync_run set resolution = 'normal_list', resolved_at = finished_at where status = 'dropped';

-- Serves "what was accepted last", asked by every run; an approved run is accepted too.
drop index sync_run_accepted;
create index sync_run_accepted on sync_run (list, fetched_at desc) where status in ('applied', 'unchanged', 'approved');
-- Serves the reviews that a suspicious list may join, and the listing of held runs.
create index sync_run_review on sync_run (list, review_id) where review_id is not null;
-- Serves the retention: which runs still need a list.
create index sync_run_content on sync_run (content_hash);

create or replace view farewatch.sync_runs as
select id, list, status, baseline, reason_code, reason, started_at, fetched_at, finished_at,
       bytes, content_hash, fetched, duplicates, conflicting_places, unknown_pairs,
       live, added, removed, returned, pending_absences, places_changed, gained, lost, durations_ms,
       review_id, resolution, resolved_at, resolved_by, not_modified
  from sync_run
 where status is not null;
comment on column farewatch.sync_runs.fetched_at is 'When the whole list had arrived, but later than every list accepted before: the valid time of what the run applied.';
comment on column farewatch.sync_runs.reason_code is 'Why it was held, rejected or failed, also once it is approved or dropped; of an applied run: agreed, where three lists released it. Stable, for machines.';
comment on column farewatch.sync_runs.review_id is 'Of a list that was suspicious: the first run of its review. Lists that agree share one.';
comment on column farewatch.sync_runs.resolution is 'What ended the review of a held run: approved or rejected by a person, normal_list, agreed (enough lists agreed with it), superseded (another held run was approved). Null while it is held.';
comment on column farewatch.sync_runs.resolved_at is 'When that was.';
comment on column farewatch.sync_runs.resolved_by is 'The run that ended it; null where a person did.';
comment on column farewatch.sync_runs.not_modified is 'Whether the upstream answered that its list was still the last accepted one, without sending it.';
