-- older code: must stop
-- Records are no longer taken back: fares whose records were show their belief again, and the next confirmed answers correct it.

update fare_state set hidden = null where hidden = 'reverted';
update fare_state set state = state - 'reverted' where state ? 'reverted';
alter table fare_state
  drop constraint fare_state_hidden_check,
  add constraint fare_state_hidden_check check (hidden in ('held', 'identity_mismatch'));
comment on column farewatch.fares_current.hidden_reason is 'Why outbound, return and state are shown as unknown although a belief is held beneath: held (a mass of such changes waits), identity_mismatch (the answers show another flight). Null otherwise; stale is a column of its own.';

-- Ended fares are no longer asked: a watch that is resumed, or gets another date, begins its fare again.

delete from fare_schedule q using fare_state s where s.tracked_fare_id = q.tracked_fare_id and s.expired_at is not null;
update fare_state set last_check_why = null where last_check_why = 'ended';
alter table fare_state
  drop column ask_again_at,
  drop constraint fare_state_last_check_why_check,
  add constraint fare_state_last_check_why_check
    check (last_check_why in ('scheduled', 'confirmation', 'new_watch', 'retry', 'route_moved', 'on_demand'));

-- Checks are no longer slowed down while most answers are unusable: that starved the fares that are answered.

delete from incident where kind = 'upstream_trouble';
alter table incident
  drop constraint incident_kind_check,
  add constraint incident_kind_check
    check (kind in ('mass_loss', 'mass_gain', 'mass_identity_change', 'mass_itinerary_change', 'mass_price_change',
      'mass_expiry'));
comment on table incident is 'Times in which changes of one kind waited. At most one of a kind is open.';
comment on table check_minute is 'Checks by the minute, and how many of them were unknown.';
