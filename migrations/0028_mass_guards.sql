-- older code: may run
-- Incidents hold a mass of identity, itinerary and price changes and of ends, as they hold a mass of losses.
-- Fares that ended although the upstream may have been wrong are asked again.

alter table incident drop constraint incident_kind_check;
alter table incident add constraint incident_kind_check check
  (kind in ('mass_loss', 'mass_identity_change', 'mass_itinerary_change', 'mass_price_change', 'mass_expiry', 'upstream_trouble'));

alter table fare_state
  -- The kinds of changes that the last answers showed and an incident holds.
  add column held         text[]      not null default '{}',
  -- Since when all its good answers have shown a departure that was past at first sight; null: the last one did not.
  add column past_since   timestamptz,
  -- When an ended fare is asked again; null: never.
  add column ask_again_at timestamptz;
-- Serves the end of an incident: what it held.
create index fare_state_held on fare_state (tracked_fare_id) where held <> '{}';
-- Serves the daily question about ended fares.
create index fare_state_ask_again on fare_state (ask_again_at) where ask_again_at is not null;

-- Serves the counts of changes in the last five minutes.
create index availability_change_recent on availability_change (kind, recorded_at);
drop index availability_change_loss;
