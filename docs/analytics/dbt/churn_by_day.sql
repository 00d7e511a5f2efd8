-- The confirmed changes of each UTC day, from the feed: as farewatch.daily_route_churn.
select day,
       count(*) filter (where kind = 'route_added') as added,
       count(*) filter (where kind = 'route_removed') as removed,
       count(*) filter (where kind = 'route_gained_availability') as gained,
       count(*) filter (where kind = 'route_lost_availability') as lost,
       count(*) filter (where kind = 'place_changed') as places_changed,
       (select count(*) from place_renumberings n where (n.valid_at at time zone 'UTC')::date = c.day) as places_renumbered,
       count(*) filter (where kind = 'route_added' and renumbered) as added_renumbered,
       count(*) filter (where kind = 'route_removed' and renumbered) as removed_renumbered
  from (select *, (valid_at at time zone 'UTC')::date as day from route_changes) c
 group by day
