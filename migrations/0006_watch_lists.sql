-- older code: must stop
-- Watches of resellers, and the feed of each reseller.

create table watch_list (
  id          uuid        default uuidv7() primary key,
  reseller_id bigint      not null references reseller,
  name        text        collate "C" not null,
  created_at  timestamptz not null default clock_timestamp(),
  unique (id, reseller_id),
  unique (reseller_id, name)
);
comment on table watch_list is 'The named lists of resellers.';

create table watch (
  id                      uuid        default uuidv7() primary key,
  reseller_id             bigint      not null,
  watch_list_id           uuid        not null,
  reference               text        collate "C" not null,
  tracked_fare_id         bigint      not null references tracked_fare,
  price_threshold_amount  numeric     check (price_threshold_amount >= 0),
  price_threshold_percent numeric     check (price_threshold_percent >= 0),
  departs_on              date,
  min_interval_seconds    integer     check (min_interval_seconds > 0),
  paused_at               timestamptz,
  created_at              timestamptz not null default clock_timestamp(),
  began_at                timestamptz not null default clock_timestamp(),
  last_notified_amount    numeric,
  last_notified_currency  text,
  started_at              timestamptz,
  ended_at                timestamptz,
  priority                text        not null default 'normal' check (priority in ('low', 'normal', 'high', 'urgent')),
  max_delay_seconds       integer     check (max_delay_seconds > 0),
  unique (watch_list_id, reference),
  foreign key (watch_list_id, reseller_id) references watch_list (id, reseller_id)
);
comment on table watch is 'The watches of resellers. A deleted one is gone, its records stay.';
comment on column watch.price_threshold_amount is 'Smaller changes of price write no record for the watch; null: any change does.';
comment on column watch.began_at is 'When it was added or resumed, or when its question changed last.';
comment on column watch.last_notified_amount is 'The price of the last record that it received: price thresholds are measured from there. Null: that record had no price, or there is none yet.';
comment on column watch.started_at is 'When its watch_started was written; null while it waits for the first good check of its fare.';
comment on column watch.priority is 'How much an early detection is worth: low 1, normal 2, high 5, urgent 20.';
comment on column watch.max_delay_seconds is 'The longest expected interval between checks that its reseller asked for.';
-- Serves the fan-out of a change to the watches of its fare.
create index watch_fare on watch (tracked_fare_id);
-- Serves counts and the end of all of a reseller's watches.
create index watch_reseller on watch (reseller_id);
-- Serves the start of watches with the next good check: nearly empty.
create index watch_unstarted on watch (tracked_fare_id) where started_at is null;
-- Serves the ends of watches.
create index watch_departs on watch (departs_on) where ended_at is null;
-- Serves the sum of what the longest delays need.
create index watch_max_delay on watch (reseller_id) where max_delay_seconds is not null;

create table watch_event (
  id                 uuid        default uuidv7() primary key,
  kind               text        not null,
  tracked_fare_id    bigint      not null references tracked_fare,
  before             jsonb,
  after              jsonb       not null,
  last_good_check_at timestamptz,
  detected_at        timestamptz not null,
  schema_version     integer     not null default 3,
  reason             text        check (reason in ('departed', 'departs_on_passed', 'never_available')),
  constraint watch_event_before_check check ((before is null) = (kind = 'watch_started'))
);
-- Not valid: rows of older versions may have any kind of change, and are never written again.
alter table watch_event add constraint watch_event_kind_check check (kind in ('watch_started', 'expired')) not valid;
comment on table watch_event is 'What happens to watches alone: their start, and their end while the fare goes on. Watches of one fare to which it happens in one transaction share a row.';
comment on column watch_event.detected_at is 'Of watch_started: when the last good check of the belief in `after` began.';
comment on column watch_event.schema_version is 'Consumers see by the number which kinds and fields they may meet.';

create table watch_change (
  reseller_id    bigint      not null references reseller,
  seq            bigint      not null,
  watch_id       uuid        not null,
  reference      text        not null,
  change_id      uuid        references availability_change (id),
  recorded_at    timestamptz not null default clock_timestamp(),
  watch_event_id uuid        references watch_event,
  list           text        collate "C",
  primary key (reseller_id, seq),
  check (num_nonnulls(change_id, watch_event_id) = 1)
);
comment on table watch_change is 'The feed of each reseller: its numbers, and the record behind each.';
comment on column watch_change.list is 'The name of the list of the watch when the record was written; null for older records. The present name takes precedence.';
-- Serves the question to whom a change of a fare was sent.
create index watch_change_change on watch_change (change_id) where change_id is not null;
-- Serves the deletion of events whose records are archived.
create index watch_change_event on watch_change (watch_event_id) where watch_event_id is not null;
