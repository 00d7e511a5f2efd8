-- How concentrated the network is on its hubs
--
-- On the first day of each month: how many places have departures, which share of all routes leaves from the ten largest
-- of them, and the Herfindahl-Hirschman index. The index is the sum of the squared shares of all places. It is 1 if all
-- routes leave from one place, and 1/n if n places have the same number.
select to_char(day, 'YYYY-MM') as month, count(*) as places,
       round(100 * sum(share) filter (where rank <= 10), 1) as percent_of_ten_largest,
       round(sum(share * share), 4) as herfindahl_hirschman
  from (select day, 1.0 * destinations / sum(destinations) over of_day as share,
               row_number() over (of_day order by destinations desc, place_id) as rank
          from farewatch.daily_place_degree
         where extract(day from day) = 1 and destinations > 0
        window of_day as (partition by day)) d
 group by day
 order by day;
