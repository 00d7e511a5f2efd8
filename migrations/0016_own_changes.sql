-- older code: must stop
-- What a watch alone is told, which is no change of its fare.
-- Its first look at a fare that others asked before, and its own end while others go on. Older code would leave a hole
-- in a reseller's feed where such a record stands.

alter table watch
  -- When the check was asked by which it was first told how its fare stands; null before.
  add column looked_at timestamptz,
  -- When it ended by itself: its own departure date has passed, or it was not once available in thirty days.
  add column ended_at  timestamptz;
-- Those of before have seen what they have seen.
update watch set looked_at = began_at;
-- Serves first looks: nearly empty.
create index watch_unlooked on watch (tracked_fare_id) where looked_at is null;
-- Serves the ends of watches.
create index watch_departs on watch (departs_on) where ended_at is null;

-- Thirty days without being available count from the beginning of the newest watch.
alter table tracked_fare drop column active_since;

-- Shared by the watches of one fare that are told it at one moment.
create table own_change (
  id                 uuid        primary key default uuidv7(),
  kind               text        not null check (kind in ('became_available', 'legs_changed', 'expired')),
  tracked_fare_id    bigint      not null references tracked_fare,
  before             jsonb       not null,
  after              jsonb       not null,
  last_good_check_at timestamptz,
  detected_at        timestamptz not null
);

alter table watch_change
  alter column change_id drop not null,
  add column own_change_id uuid references own_change (id),
  add check (num_nonnulls(change_id, own_change_id) = 1);
