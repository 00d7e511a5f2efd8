-- Which countries have a season
--
-- Live routes on the first day of each calendar month, as a percentage of the country's average month. 100 is a month like
-- the average; 150 in July and 60 in January is a strong summer season. The last two whole years count, so that each month
-- counts equally often. Countries with fewer than ten routes on average are left out.
with by_month as (
       select departure_country, extract(month from day)::int as month, sum(live) as live
         from farewatch.daily_network
        where extract(day from day) = 1 and departure_country <> ''
          and day > (select max(day) from farewatch.daily_network) - interval '2 years'
        group by 1, 2)
select departure_country as country, month, round(100.0 * live / average, 1) as percent_of_average
  from (select *, sum(live) over (partition by departure_country) / 12 as average from by_month) m
 where average >= 20
 order by 1, 2;
