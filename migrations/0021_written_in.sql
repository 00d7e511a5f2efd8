-- older code: must stop
-- Increments of the histories without loss: each row has a key, and the transaction that wrote it last.
-- A reader takes the rows of finished transactions, whatever instants they have: a row that is committed late is not missed.
-- Older code would end intervals without naming its transaction.

-- The default is stable: PostgreSQL computes it once for all rows that exist, and rewrites no table. There is no index: an increment
-- is read once a day, and an index would cost every write.
alter table sync_run add column written_in xid8 not null default pg_current_xact_id();
alter table place_version add column written_in xid8 not null default pg_current_xact_id();
alter table route_version add column written_in xid8 not null default pg_current_xact_id();
alter table route_availability_version add column written_in xid8 not null default pg_current_xact_id();
alter table fare_belief_version add column written_in xid8 not null default pg_current_xact_id();
alter table daily_network add column written_in xid8 not null default pg_current_xact_id();
alter table daily_country_pairs add column written_in xid8 not null default pg_current_xact_id();
alter table daily_place_degree add column written_in xid8 not null default pg_current_xact_id();
alter table daily_fares add column written_in xid8 not null default pg_current_xact_id();
comment on column sync_run.written_in is 'The transaction that wrote the row last. Each statement that changes the row sets it.';
comment on column place_version.written_in is 'The transaction that wrote the row last. Each statement that changes the row sets it.';
comment on column route_version.written_in is 'The transaction that wrote the row last. Each statement that changes the row sets it.';
comment on column route_availability_version.written_in is 'The transaction that wrote the row last. Each statement that changes the row sets it.';
comment on column fare_belief_version.written_in is 'The transaction that wrote the row last. Each statement that changes the row sets it.';

create or replace view farewatch.sync_runs as
select id, list, status, baseline, reason_code, reason, started_at, fetched_at as valid_at, finished_at,
       bytes, content_hash, fetched, duplicates, conflicting_places, unknown_pairs,
       live, added, removed, returned, pending_absences, places_changed, gained, lost, durations_ms,
       review_id, resolution, resolved_at, resolved_by, not_modified, coalesce(arrived_at, fetched_at) as arrived_at,
       would_add, would_remove, pending_places,
       written_in::text::bigint as written_in
  from sync_run
 where status is not null;
comment on column farewatch.sync_runs.written_in is 'The transaction that wrote the row last. Rows of transactions below pg_snapshot_xmin(pg_current_snapshot()) are final: none appears later under a smaller number.';

create or replace view farewatch.place_history as
select place_id, iata, city, country, valid_from, valid_to,
       md5(jsonb_build_array(place_id, extract(epoch from valid_from))::text) as row_key,
       written_in::text::bigint as written_in
  from place_version;
comment on column farewatch.place_history.row_key is 'Identity of the interval: it stays when the interval ends.';
comment on column farewatch.place_history.written_in is 'The transaction that wrote the row last. Rows of transactions below pg_snapshot_xmin(pg_current_snapshot()) are final: none appears later under a smaller number.';

create or replace view farewatch.route_history as
select departure_id, destination_id, valid_from, valid_to,
       last_seen_at, first_missed_at, added_by as added_run_id, removed_by as removed_run_id,
       valid_to is null as is_current, changed_at,
       md5(jsonb_build_array(departure_id, destination_id, extract(epoch from valid_from))::text) as row_key,
       written_in::text::bigint as written_in
  from route_version;
comment on column farewatch.route_history.row_key is 'Identity of the interval: it stays when the interval ends.';
comment on column farewatch.route_history.written_in is 'The transaction that wrote the row last. Rows of transactions below pg_snapshot_xmin(pg_current_snapshot()) are final: none appears later under a smaller number.';

create or replace view farewatch.route_availability_history as
select departure_id, destination_id, available, valid_from, valid_to,
       md5(jsonb_build_array(departure_id, destination_id, extract(epoch from valid_from))::text) as row_key,
       written_in::text::bigint as written_in
  from route_availability_version;
comment on column farewatch.route_availability_history.row_key is 'Identity of the interval: it stays when the interval ends.';
comment on column farewatch.route_availability_history.written_in is 'The transaction that wrote the row last. Rows of transactions below pg_snapshot_xmin(pg_current_snapshot()) are final: none appears later under a smaller number.';

create or replace view farewatch.fare_history as
select v.tracked_fare_id, v.outbound, v.return, v.pair as state, v.price, v.currency, v.valid_from, v.valid_to,
       coalesce(v.price_checked_at, s.price_checked_at) as price_checked_at,
       coalesce(v.price_reason, s.price_reason) as price_reason,
       t.flight_id, t.return_flight_id,
       t.residents_adults, t.residents_children, t.residents_infants,
       t.non_residents_adults, t.non_residents_children, t.non_residents_infants,
       f.outbound_departure_iata, f.outbound_departure_id,
       f.outbound_destination_iata, f.outbound_destination_id,
       f.outbound_airline, f.outbound_flight_numbers, f.outbound_departs_local, f.outbound_departs_at,
       f.return_departure_iata, f.return_departure_id,
       f.return_destination_iata, f.return_destination_id,
       f.return_airline, f.return_flight_numbers, f.return_departs_local, f.return_departs_at,
       md5(jsonb_build_array(v.tracked_fare_id, extract(epoch from v.valid_from))::text) as row_key,
       v.written_in::text::bigint as written_in
  from fare_belief_version v
  left join fare_state s on s.tracked_fare_id = v.tracked_fare_id and v.valid_to is null
  left join tracked_fare t on t.id = v.tracked_fare_id
  left join shown_flights f on f.id = coalesce(v.flights_id, s.flights_id);
comment on column farewatch.fare_history.row_key is 'Identity of the interval: it stays when the interval ends.';
comment on column farewatch.fare_history.written_in is 'The transaction that wrote the row last. Rows of transactions below pg_snapshot_xmin(pg_current_snapshot()) are final: none appears later under a smaller number.';

create or replace view farewatch.daily_network as
select day, departure_country, live, available, known, added, removed,
       written_in::text::bigint as written_in
  from daily_network;
comment on column farewatch.daily_network.written_in is 'The transaction that computed the day last: all rows of a day have the same one.';

create or replace view farewatch.daily_country_pairs as
select day, departure_country, destination_country, live, available,
       written_in::text::bigint as written_in
  from daily_country_pairs;
comment on column farewatch.daily_country_pairs.written_in is 'The transaction that computed the day last: all rows of a day have the same one.';

create or replace view farewatch.daily_place_degree as
select day, place_id, destinations, origins,
       written_in::text::bigint as written_in
  from daily_place_degree;
comment on column farewatch.daily_place_degree.written_in is 'The transaction that computed the day last: all rows of a day have the same one.';

create or replace view farewatch.daily_fares as
select day, departure_iata, destination_iata, departure_id, destination_id, days_to_departure, has_return,
       residents_adults, residents_children, residents_infants,
       non_residents_adults, non_residents_children, non_residents_infants,
       fares, bookable, bookable_share, currency, p10, median, p90,
       written_in::text::bigint as written_in
  from daily_fares;
comment on column farewatch.daily_fares.written_in is 'The transaction that computed the day last: all rows of a day have the same one.';
