-- older code: may run
-- A change of the site that sells a flight is a kind of its own.

alter table availability_change drop constraint availability_change_kind_check;
alter table availability_change add constraint availability_change_kind_check
  check (kind in ('first_seen', 'became_available', 'became_unavailable', 'legs_changed', 'price_changed',
    'itinerary_changed', 'site_changed', 'identity_changed', 'expired'));

comment on table fare_flights is 'The flights of a tracked fare, as its state shows them. A change of identity, itinerary or site adds a row.';
comment on column farewatch.availability_changes.kind is 'first_seen, became_available, became_unavailable, legs_changed, price_changed, itinerary_changed, site_changed, identity_changed or expired. Of first_seen nothing was believed before: it is no return and no loss.';
comment on column farewatch.fares_current.last_good_check_at is 'When the last good check began: one that agreed in availability, identity, itinerary and site. The price has its own age.';
