-- older code: must stop
-- Questions over all intervals read an index alone: route_history needs no join for changed_at.
-- Older code would end an interval without a new changed_at, and an incremental extraction would miss it.

alter table route_version add column changed_at timestamptz;
update route_version v
   set changed_at = r.finished_at
  from sync_run r
 where r.id = coalesce(v.removed_by, v.added_by);
alter table route_version alter column changed_at set default clock_timestamp();
comment on column route_version.changed_at is 'When the row was written last. Runs of a list follow each other, so rows of a later run have later values.';

create or replace view farewatch.route_history as
select departure_id, destination_id, valid_from, valid_to,
       last_seen_at, first_missed_at, added_by as added_run_id, removed_by as removed_run_id,
       valid_to is null as is_current, changed_at
  from route_version;

-- The planner takes far too few pairs otherwise, and hashes a million groups on disk instead of reading the index in order.
create statistics route_version_pairs (ndistinct) on departure_id, destination_id from route_version;

-- The same order as before. Serves one fare's timeline, and availability_survival with its prices without the table.
drop index fare_belief_version_timeline;
create unique index fare_belief_version_timeline
  on fare_belief_version (tracked_fare_id, valid_from) include (valid_to, pair, price, currency);
analyze route_version;
