-- The tables of farewatch from the runs that `farewatch export all --to warehouse --state warehouse.json` has written, in DuckDB.
-- `set variable warehouse = '…'` names their folder. A run is complete when it has its manifest, and others are not read.

set variable manifests = (select list(filename) from read_text(getvariable('warehouse') || '/run=*/export.json'));

create or replace macro rows_of_runs(name) as table
  select *
    from read_parquet([replace(manifest, 'export.json', name || '.parquet') for manifest in getvariable('manifests')],
                      hive_partitioning = true, union_by_name = true);

-- A feed: each record is in one run alone.
create or replace macro feed(name) as table
  select * exclude (run) from rows_of_runs(name);

-- A history: a row of a later run replaces the one with the same key.
create or replace macro history(name) as table
  select * exclude (run) from rows_of_runs(name)
 qualify row_number() over (partition by row_key order by run desc) = 1;

-- A table by day: a day of a later run replaces the whole day.
create or replace macro days(name) as table
  select * exclude (run) from rows_of_runs(name)
 qualify run = max(run) over (partition by day);

-- A view of the present: the last run has all of it.
create or replace macro present(name) as table
  select * exclude (run) from rows_of_runs(name)
 qualify run = max(run) over ();

create or replace view route_changes as from feed('route_changes');
create or replace view availability_changes as from feed('availability_changes');
create or replace view route_history as from history('route_history');
create or replace view durable_route_history as from history('durable_route_history');
create or replace view route_availability_history as from history('route_availability_history');
create or replace view place_history as from history('place_history');
create or replace view daily_network as from days('daily_network');
create or replace view daily_country_pairs as from days('daily_country_pairs');
create or replace view daily_place_degree as from days('daily_place_degree');
create or replace view daily_fares as from days('daily_fares');
create or replace view daily_hubs as from days('daily_hubs');
create or replace view daily_prices as from days('daily_prices');
create or replace view daily_airlines as from days('daily_airlines');
create or replace view daily_delays as from days('daily_delays');
create or replace view places as from present('places');
create or replace view place_renumberings as from present('place_renumberings');
create or replace view fares_current as from present('fares_current');
create or replace view fare_survival as from present('fare_survival');
create or replace view prices_by_days_to_departure as from present('prices_by_days_to_departure');

-- A held run is decided later: then its row is written again.
create or replace view sync_runs as
  select * exclude (run) from rows_of_runs('sync_runs')
 qualify row_number() over (partition by sync_run_id order by run desc) = 1;

-- The ids of its places are those of the present lists, also in intervals that ended long ago.
create or replace view fare_history as
  with codes as (
    select iata, case when count(*) = 1 then min(place_id) end as place_id
      from (from places where iata <> '' and successor_id is null qualify last_seen_at = max(last_seen_at) over (partition by iata))
     group by iata)
  select h.* replace (
           od.place_id as outbound_departure_id, oa.place_id as outbound_destination_id,
           rd.place_id as return_departure_id, ra.place_id as return_destination_id)
    from history('fare_history') h
    left join codes od on od.iata = h.outbound_departure_iata
    left join codes oa on oa.iata = h.outbound_destination_iata
    left join codes rd on rd.iata = h.return_departure_iata
    left join codes ra on ra.iata = h.return_destination_iata;
