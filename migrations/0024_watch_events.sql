-- older code: must stop
-- Each beginning of a watch writes one record, `watch_started`, with the belief that all watches of the fare share.
-- Watches keep no belief of their own any more. Records that were written before stay as they are.

alter table own_change rename to watch_event;
alter table watch_event rename constraint own_change_pkey to watch_event_pkey;
alter table watch_event rename constraint own_change_tracked_fare_id_fkey to watch_event_tracked_fare_id_fkey;
alter table watch_event alter column before drop not null;
alter table watch_event drop constraint own_change_kind_check;
-- Not valid: rows of before may have any kind of change, and are never written again.
alter table watch_event add constraint watch_event_kind_check
  check (kind in ('watch_started', 'expired')) not valid;
alter table watch_event add constraint watch_event_before_check
  check ((before is null) = (kind = 'watch_started'));
comment on table watch_event is 'What happens to watches alone: their start, and their end while the fare goes on. Watches of one fare to which it happens in one transaction share a row.';
comment on column watch_event.detected_at is 'Of watch_started: when the last good check of the belief in `after` began.';

alter table watch_change rename column own_change_id to watch_event_id;
alter table watch_change rename constraint watch_change_own_change_id_fkey to watch_change_watch_event_id_fkey;

-- Records of a new kind: consumers see by the number that they may meet it.
alter table watch_event add column schema_version integer not null default 1;
alter table watch_event alter column schema_version set default 2;
alter table availability_change alter column schema_version set default 2;
comment on column farewatch.availability_changes.schema_version is 'Version of the schema of records: 2 since feeds of watches have the kind watch_started. The shape of before and after is that of 1.';

alter table watch rename column looked_at to started_at;
alter table watch rename column told_amount to last_notified_amount;
alter table watch rename column told_currency to last_notified_currency;
alter table watch drop column own_state;
alter index watch_unlooked rename to watch_unstarted;
comment on column watch.began_at is 'When it was added or resumed, or when its question changed last.';
comment on column watch.started_at is 'When its watch_started was written; null while it waits for the first good check of its fare.';
comment on column watch.last_notified_amount is 'The price of the last record that it received: price thresholds are measured from there. Null: that record had no price, or there is none yet.';
