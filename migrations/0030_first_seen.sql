-- older code: may run
-- The first sight of a fare is a kind of its own, and no return.
-- Records from before keep the kinds that their readers have read: state_before tells them apart.

alter table availability_change drop constraint availability_change_kind_check;
alter table availability_change add constraint availability_change_kind_check
  check (kind in ('first_seen', 'became_available', 'became_unavailable', 'legs_changed', 'price_changed',
    'itinerary_changed', 'identity_changed', 'expired'));

comment on column farewatch.availability_changes.kind is 'first_seen, became_available, became_unavailable, legs_changed, price_changed, itinerary_changed, identity_changed or expired. Before first_seen nothing was believed of the fare: older records have became_available or legs_changed there, with the state_before unknown.';
