-- Country pairs that grew and shrank in a year
--
-- Live routes from one country to another on the last computed day and on the same day of the year before. The ten pairs
-- with the largest difference. A pair without routes on one of the two days counts as 0 on that day.
with last_day as (
       select max(day) as day from farewatch.daily_network),
     live as (
       select departure_country, destination_country,
              coalesce(sum(p.live) filter (where p.day = l.day - interval '1 year'), 0) as year_before,
              coalesce(sum(p.live) filter (where p.day = l.day), 0) as now
         from last_day l
         join farewatch.daily_country_pairs p on p.day in (l.day, (l.day - interval '1 year')::date)
        where departure_country <> '' and destination_country <> ''
        group by 1, 2)
select departure_country || ' → ' || destination_country as pair, year_before, now, now - year_before as difference,
       round(100.0 * (now - year_before) / nullif(year_before, 0), 1) as percent
  from live
 where now <> year_before
 order by abs(now - year_before) desc, 1
 limit 10;
