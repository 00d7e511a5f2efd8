-- older code: may run
-- What a watch believes until its first look, by the answers since it began.

-- Neither what it is told nor when tells what others had learned before. Older code beside it may take a first look early.
alter table watch
  -- The state as decide() gives it, of the answers since it began; null before the first one, and from its first look on.
  add column own_state jsonb;
comment on column watch.looked_at is 'When the check was asked from which on it shares what is believed of its fare; null before.';

-- What it is told by its own state may be any change.
alter table own_change drop constraint own_change_kind_check;
alter table own_change add constraint own_change_kind_check
  check (kind in ('became_available', 'became_unavailable', 'legs_changed', 'price_changed', 'itinerary_changed',
                  'identity_changed', 'expired'));
