-- When a place was cut off
--
-- Periods of at least a day in which no route left from a place, between its first route and now: a closed runway, a
-- strike, a season without flights. For the places of one country, in the last three years. A place that is still cut off
-- has no `served_again_at`.
--
-- `range_agg` joins the intervals of all routes of a place to a multirange. What the whole period has and the multirange
-- lacks are the gaps.
with flown as (
       select p.iata, p.city, range_agg(tstzrange(h.valid_from, h.valid_to)) as times
         from farewatch.durable_route_history h
         join farewatch.place_history p on p.place_id = h.departure_id and p.valid_to is null
        where p.country = 'Spain'
        group by p.place_id, p.iata, p.city)
select iata, city, lower(gap) as cut_off_at, nullif(upper(gap), now()) as served_again_at, upper(gap) - lower(gap) as lasted
  from (select *, unnest(tstzmultirange(tstzrange(greatest(lower(times), now() - interval '3 years'), now())) - times) as gap
          from flown) g
 where upper(gap) - lower(gap) >= interval '1 day'
 order by 3, 1;
