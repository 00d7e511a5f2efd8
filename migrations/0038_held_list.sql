-- older code: must stop
-- At most one list of each kind is held, with the number of lists that agree with it. Older code would hold several.

create table held_list (
  list         text        primary key check (list in ('routes', 'with-availability')),
  first_run_id bigint      not null references sync_run,
  lists        integer     not null check (lists > 0),
  rejected_at  timestamptz
);
comment on table held_list is 'The suspicious list of each kind that is held, or that an operator has rejected.';
comment on column held_list.first_run_id is 'The run of the first of the agreeing lists. Later lists are compared with it.';
comment on column held_list.lists is 'Lists in a row that agree with the first one, which counts too.';
comment on column held_list.rejected_at is 'When an operator rejected it last; null if none did. Such a list is never released without an operator.';

-- The newest held list stays, with those of its review that no list of another review separates from it.
create temporary table newest_held on commit drop as
select distinct on (h.list) h.list, h.id, coalesce(h.review_id, h.id) as review_id
  from sync_run h
 where h.status = 'held'
   and h.id > coalesce((select max(a.id) from sync_run a
                         where a.list = h.list and a.status in ('applied', 'unchanged', 'approved')), 0)
 order by h.list, h.id desc;
insert into held_list (list, first_run_id, lists, rejected_at)
select n.list, min(r.id), count(*),
       (select max(d.resolved_at) from sync_run d where d.review_id = n.review_id and d.resolution = 'rejected')
  from newest_held n
  join sync_run r on coalesce(r.review_id, r.id) = n.review_id and r.status = 'held'
   and r.id > coalesce((select max(o.id) from sync_run o
                         where o.list = n.list and o.review_id <> n.review_id and o.id < n.id), 0)
 group by n.list, n.review_id;
update sync_run r
   set status = 'dropped', resolution = 'superseded', resolved_at = clock_timestamp(),
       resolved_by = (select n.id from newest_held n where n.list = r.list), written_in = pg_current_xact_id()
 where r.status = 'held' and r.id not in (select id from newest_held);
-- Else the review that was rejected last is remembered, with its oldest list that is kept.
insert into held_list (list, first_run_id, lists, rejected_at)
select distinct on (r.list) r.list,
       (select f.id from sync_run f
         where f.review_id = r.review_id
         order by exists (select from snapshot s where s.content_hash = f.content_hash) desc, f.id
         limit 1),
       (select count(*) from sync_run f where f.review_id = r.review_id),
       r.resolved_at
  from sync_run r
 where r.resolution = 'rejected' and r.review_id is not null
   and not exists (select from sync_run a where a.review_id = r.review_id and a.status in ('applied', 'approved'))
 order by r.list, r.resolved_at desc
    on conflict (list) do nothing;

-- At most one held run of a list; serves "what is held".
create unique index sync_run_held on sync_run (list) where status = 'held';

-- Comments outlive the column that goes.
create temporary table sync_runs_comment on commit drop as
select attname as of_column, col_description(attrelid, attnum) as text
  from pg_attribute
 where attrelid = 'farewatch.sync_runs'::regclass and attnum > 0 and attname <> 'review_id'
union all
select null, obj_description('farewatch.sync_runs'::regclass);
drop view farewatch.sync_runs;
create view farewatch.sync_runs as
select id, list, status, baseline, reason_code, reason, started_at, fetched_at as valid_at, finished_at,
       bytes, content_hash, fetched, duplicates, conflicting_places, unknown_pairs,
       live, added, removed, returned, pending_absences, places_changed, gained, lost, durations_ms,
       resolution, resolved_at, resolved_by, not_modified, coalesce(arrived_at, fetched_at) as arrived_at,
       would_add, would_remove, pending_places,
       written_in::text::bigint as written_in
  from sync_run
 where status is not null;
do $$
declare
  c record;
begin
  for c in select * from sync_runs_comment where text is not null loop
    if c.of_column is null then execute format('comment on view farewatch.sync_runs is %L', c.text);
    else execute format('comment on column farewatch.sync_runs.%I is %L', c.of_column, c.text);
    end if;
  end loop;
end;
$$;
comment on column farewatch.sync_runs.resolution is 'What became of a held run: approved or rejected by a person, normal_list (a normal list was applied), agreed (enough lists agreed with it), superseded (a later list is held). Null while it is held.';
grant select on farewatch.sync_runs to farewatch_analyst;
alter table sync_run drop column review_id;
