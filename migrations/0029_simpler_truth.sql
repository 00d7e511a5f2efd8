-- older code: must stop
-- Records are no longer taken back: fares whose records were show their belief again, and the next confirmed answers correct it.

update fare_state set hidden = null where hidden = 'reverted';
update fare_state set state = state - 'reverted' where state ? 'reverted';
alter table fare_state
  drop constraint fare_state_hidden_check,
  add constraint fare_state_hidden_check check (hidden in ('held', 'identity_mismatch'));
comment on column farewatch.fares_current.hidden_reason is 'Why outbound, return and state are shown as unknown although a belief is held beneath: held (a mass of such changes waits), identity_mismatch (the answers show another flight). Null otherwise; stale is a column of its own.';
