-- One row a live route, from the histories: as farewatch.routes_current. For another instant, replace the conditions on valid_to
-- with `valid_from <= instant and (valid_to is null or valid_to > instant)`.
select r.departure_id, d.iata as departure_iata, d.city as departure_city, d.country as departure_country,
       r.destination_id, a.iata as destination_iata, a.city as destination_city, a.country as destination_country,
       r.valid_from, v.available
  from route_history r
  join place_history d on d.place_id = r.departure_id and d.valid_to is null
  join place_history a on a.place_id = r.destination_id and a.valid_to is null
  left join route_availability_history v
         on (v.departure_id, v.destination_id) = (r.departure_id, r.destination_id) and v.valid_to is null
 where r.valid_to is null
