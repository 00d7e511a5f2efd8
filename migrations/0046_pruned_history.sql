-- older code: must stop
-- One floor: what `history prune` deletes was exported before, and the runs of an archive are gone.

create table prune (
  is_only        boolean     primary key default true check (is_only),
  before         timestamptz not null default '-infinity',
  written_before xid8        not null default '0'
);
comment on table prune is 'The floor of the histories: one row.';
comment on column prune.before is 'Closed intervals that ended by then, and records of before, are deleted as far as nothing needs them.';
comment on column prune.written_before is 'Rows of this transaction or a later one are not deleted: the checked export may lack them.';
insert into prune (before, written_before)
select coalesce(max(before), '-infinity'), case when max(before) is null then '0' else pg_current_xact_id() end
  from archive
 where applied_at is not null;

create or replace view history_floor as select before from prune;
-- The feeds of resellers have a floor each, in `reseller`.
create or replace view farewatch.history_starts as
select n.view_name, case when coalesce(h.first_seq, 2) > 1 then nullif(p.before, '-infinity') end as complete_from, h.first_seq
  from (values ('route_history', null), ('durable_route_history', null), ('route_availability_history', null), ('fare_history', null),
               ('watch_changes', null), ('route_changes', 'route'), ('availability_changes', 'availability')) n (view_name, feed)
  left join feed_head h on h.feed = n.feed
 cross join prune p;
comment on view farewatch.history_starts is 'Where each history and feed begins, after farewatch history prune has deleted older rows. One row a view that can be pruned. Key: view_name.';
comment on column farewatch.history_starts.complete_from is 'The view is complete for every instant since then. Null: nothing of it was pruned.';
drop table archive;

create function farewatch.history_floor(view_name text default 'route_history')
returns timestamptz
language sql stable parallel safe
begin atomic
  select s.complete_from from farewatch.history_starts s where s.view_name = history_floor.view_name;
end;
comment on function farewatch.history_floor is 'The instant since which a view is complete. Null: nothing of it was pruned, or it is none of history_starts.';

-- Exports take each record once by the transaction that wrote it, as they do of histories.
alter table watch_change add column written_in xid8 not null default pg_current_xact_id();
comment on column watch_change.written_in is 'The transaction that wrote the row.';

create view farewatch.watch_changes as
select w.reseller_id || ':' || w.seq as row_key, w.reseller_id, r.name as reseller, w.seq, w.watch_id, w.reference, w.list,
       coalesce(c.kind, e.kind) as kind, coalesce(c.reason, e.reason) as reason,
       coalesce(c.schema_version, e.schema_version) as schema_version,
       coalesce(c.tracked_fare_id, e.tracked_fare_id) as tracked_fare_id, w.change_id, w.watch_event_id,
       shown_belief(coalesce(c.before, e.before)) as belief_before, shown_belief(coalesce(c.after, e.after)) as belief,
       coalesce(c.last_good_check_at, e.last_good_check_at) as last_good_check_at,
       coalesce(c.detected_at, e.detected_at) as detected_at, w.recorded_at, c.evidence_hash, c.provenance,
       w.written_in::text::bigint as written_in
  from watch_change w
  join reseller r on r.id = w.reseller_id
  left join availability_change c on c.id = w.change_id
  left join watch_event e on e.id = w.watch_event_id
 where w.seq >= r.first_seq;
comment on view farewatch.watch_changes is 'For operators: the feeds of all resellers. Not readable by farewatch_analyst, because references are theirs. One row a record of a feed. Key: row_key.';
comment on column farewatch.watch_changes.row_key is 'Identity of the record.';
comment on column farewatch.watch_changes.reseller_id is 'The reseller of the feed.';
comment on column farewatch.watch_changes.reseller is 'Its name.';
comment on column farewatch.watch_changes.seq is 'Number of the record in the feed of the reseller.';
comment on column farewatch.watch_changes.watch_id is 'The watch that it is about.';
comment on column farewatch.watch_changes.reference is 'The reseller''s reference of the watch.';
comment on column farewatch.watch_changes.list is 'The name of the list of the watch when the record was written; null for older records.';
comment on column farewatch.watch_changes.kind is 'watch_started, or a kind of availability_changes.';
comment on column farewatch.watch_changes.reason is 'Why a fare or a watch ended; null for other kinds.';
comment on column farewatch.watch_changes.schema_version is 'Which kinds and fields the record may have.';
comment on column farewatch.watch_changes.tracked_fare_id is 'The fare of the watch.';
comment on column farewatch.watch_changes.change_id is 'The record in availability_changes; null for what happens to a watch alone.';
comment on column farewatch.watch_changes.watch_event_id is 'What happened to the watch alone; null for a change of the fare.';
comment on column farewatch.watch_changes.belief_before is 'What was believed before; null for watch_started.';
comment on column farewatch.watch_changes.belief is 'What is believed since.';
comment on column farewatch.watch_changes.last_good_check_at is 'When the last check began that still confirmed the belief before.';
comment on column farewatch.watch_changes.detected_at is 'When the check began that found the change.';
comment on column farewatch.watch_changes.recorded_at is 'When the record was written.';
comment on column farewatch.watch_changes.evidence_hash is 'The kept answer behind the change; null without one.';
comment on column farewatch.watch_changes.provenance is 'How that answer was received; null for what happens to a watch alone.';
comment on column farewatch.watch_changes.written_in is 'The transaction that wrote the record. Rows of transactions below pg_snapshot_xmin(pg_current_snapshot()) are final: none appears later under a smaller number.';
