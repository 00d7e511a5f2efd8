-- Routes that are flown in one direction only
--
-- By country of departure: live routes, and those among them whose way back is not live. Some of them are triangles, which
-- return by a third place. In a list that was cut, this share rises.
select p.country, sum(d.routes) as routes, sum(d.one_way) as one_way, round(100.0 * sum(d.one_way) / sum(d.routes), 1) as percent
  from (select r.departure_id, count(*) as routes, count(*) filter (where back.departure_id is null) as one_way
          from farewatch.route_history r
          left join farewatch.route_history back
            on (back.departure_id, back.destination_id) = (r.destination_id, r.departure_id) and back.valid_to is null
         where r.valid_to is null
         group by 1) d
  join farewatch.place_history p on p.place_id = d.departure_id and p.valid_to is null
 group by 1
 order by 4 desc, 1;
