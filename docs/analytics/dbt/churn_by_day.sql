-- The confirmed changes of each UTC day, from the feed: as farewatch.daily_route_churn.
select (valid_at at time zone 'UTC')::date as day,
       count(*) filter (where kind = 'route_added') as added,
       count(*) filter (where kind = 'route_removed') as removed,
       count(*) filter (where kind = 'route_gained_availability') as gained,
       count(*) filter (where kind = 'route_lost_availability') as lost,
       count(*) filter (where kind = 'place_changed') as places_changed,
       count(*) filter (where kind = 'place_renumbered') as places_renumbered,
       count(*) filter (where kind = 'route_added' and renumbered is not null) as added_renumbered,
       count(*) filter (where kind = 'route_removed' and renumbered is not null) as removed_renumbered
  from route_changes
 group by 1
