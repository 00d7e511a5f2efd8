-- older code: may run
-- A mass of departures is held: each of these fares is asked again before it ends.

alter table fare_state add column held_until timestamptz;
comment on column fare_state.held_until is 'Until when an incident holds the end of the fare, whatever its departure; null: none did.';
