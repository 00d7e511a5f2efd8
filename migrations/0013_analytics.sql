-- older code: may run
-- Time travel that stays fast when the history is long: routes_as_of by ranges, and timelines that carry what it reads.

-- The same order as before and as many indexes; 8 bytes an entry more. An update that ends an interval was never a
-- heap-only one, for "where valid_to is null" speaks of the same column, so that it costs no more than before.
drop index route_version_timeline;
-- Serves one route's timeline, routes_as_of for one departure place and, in the order of ids, the pages of an export;
-- no two versions begin together.
create unique index route_version_timeline
  on route_version (departure_id, destination_id, valid_from) include (valid_to);

drop index route_availability_version_timeline;
-- Serves one route's timeline, and the availability of each route of routes_as_of.
create unique index route_availability_version_timeline
  on route_availability_version (departure_id, destination_id, valid_from) include (valid_to, available);

-- Of "began by then" and "had not ended by then" the planner takes the product, five times too much of a long
-- history, and turns to scans of whole tables. Of ranges it keeps bounds and lengths, and knows how many hold an instant.
create statistics route_version_life on (tstzrange(valid_from, valid_to)) from route_version;
create statistics place_version_life on (tstzrange(valid_from, valid_to)) from place_version;
analyze route_version, place_version;

-- The availability of one route is few intervals, found by its index: there the plain comparison is the cheaper one.
create or replace function farewatch.routes_as_of(instant timestamptz)
returns table (
  departure_id text, departure_iata text, departure_city text, departure_country text,
  destination_id text, destination_iata text, destination_city text, destination_country text,
  since timestamptz, available boolean
)
language sql stable parallel safe
begin atomic
  select r.departure_id, d.iata, d.city, d.country,
         r.destination_id, a.iata, a.city, a.country,
         r.valid_from, v.available
    from farewatch.route_history r
    join farewatch.place_history d
      on d.place_id = r.departure_id and tstzrange(d.valid_from, d.valid_to) @> instant
    join farewatch.place_history a
      on a.place_id = r.destination_id and tstzrange(a.valid_from, a.valid_to) @> instant
    left join farewatch.route_availability_history v
           on (v.departure_id, v.destination_id) = (r.departure_id, r.destination_id)
          and v.valid_from <= instant and (v.valid_to is null or v.valid_to > instant)
   where tstzrange(r.valid_from, r.valid_to) @> instant;
end;
