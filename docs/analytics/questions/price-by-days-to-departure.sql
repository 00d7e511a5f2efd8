-- Prices by days to departure
--
-- The median price of a day and route is divided by the average of that route, so that cheap and expensive routes count
-- alike: 100 is the average price of the route. Each group has one route, passenger mix and currency, so amounts that
-- cannot be compared are never mixed. The last column is the share of
-- tracked fares that could be booked.
with priced as (
       select days_to_departure, median, bookable, bookable_share,
              avg(median) over (partition by departure_iata, destination_iata, has_return, currency, residents_adults, residents_children,
                                residents_infants, non_residents_adults, non_residents_children, non_residents_infants) as average
         from farewatch.daily_fares
        where day > (select max(day) from farewatch.daily_network) - interval '1 year' and days_to_departure <= 60)
select days_to_departure, count(median) as medians, round(avg(100 * median / average), 1) as price_index,
       round(100 * avg(bookable_share), 1) as percent_bookable
  from priced
 group by 1
 order by 1;
