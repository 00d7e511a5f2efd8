-- How concentrated the network is on its hubs
--
-- On the first day of each month: how many places have departures, which share of all routes leaves from the ten largest
-- of them, and the Herfindahl-Hirschman index. The index is the sum of the squared shares of all places. It is 1 if all
-- routes leave from one place, and 1/n if n places have the same number.
select to_char(day, 'YYYY-MM') as month, count(*) as places,
       round((100 * sum(share) filter (where place_number <= 10))::numeric, 1) as percent_of_ten_largest,
       round(sum(share * share)::numeric, 4) as herfindahl_hirschman
  from (select *, row_number() over (partition by day order by rank, place_id) as place_number
          from farewatch.daily_hubs
         where extract(day from day) = 1) d
 group by day
 order by day;
