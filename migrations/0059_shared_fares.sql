-- older code: must stop
-- A shared fare is in the queue where its expected interval is the shortest. Once a minute it may move; a check no longer moves it.

alter table recheck_payer add column free_tickets double precision not null default 0;
comment on column recheck_payer.free_tickets is 'As tickets, without the fares that their minimum interval holds, times the part of the checks that these leave. 0 if it holds all.';
alter table fare_schedule add column changes_per_day double precision;
comment on column fare_schedule.changes_per_day is 'The expected changes a day that the ticket follows from, factors included.';
comment on column fare_schedule.payer is 'The reseller in whose queue the fare is: of its resellers about the one in whose queue its expected interval is the shortest, as counted once a minute.';

-- The weight is that of the payer alone.
create or replace view farewatch.availability_schedule as
with factor as materialized (
  -- As `factorOf` in src/recheck/policy/factor-table.ts: relative to the last bucket, within [0.2, 30].
  select f.name, f.bucket,
         least(30, greatest(0.2, (f.observed + 5) / (f.expected + 5) * (r.expected + 5) / (r.observed + 5))) as value
    from recheck_factor f
    join recheck_factor r on r.name = f.name
                         and r.bucket = case when f.name like 'hazard %' then 7 else 6 end
   where f.name like 'hazard %' or f.name like 'recency %'
), rate as materialized (
  -- Changes a day of all fares, where a fare's own checks show nothing yet.
  select name, (1 + sum(observed)) / (1 + sum(expected)) as prior
    from recheck_factor
   where name in ('all available', 'all unavailable')
   group by name
), fare as (
  select q.*, coalesce(q.rated_state, 'available') as state, s.last_check_at, s.last_check_why, s.departs_at,
         f.flight_id, f.return_flight_id, f.max_delays[array_position(f.resellers, q.payer)] as max_delay_seconds,
         coalesce(f.weights[array_position(f.resellers, q.payer)], 1) as weight,
         greatest(f.min_interval_seconds, extract(epoch from q.not_before - s.asked_at)) as min_seconds,
         p.v, nullif(p.tickets, 0) as tickets, p.fares, p.budget_part * c.fares / nullif(extract(epoch from c.expected_interval), 0) as per_second
    from fare_schedule q
    join tracked_fare f on f.id = q.tracked_fare_id
   cross join recheck_clock c
    left join fare_state s on s.tracked_fare_id = q.tracked_fare_id
    left join recheck_payer p on p.reseller_id = q.payer
), rated as (
  select fare.*,
         case state when 'available' then (1 + available_changes) / (1 / coalesce(prior, 1) + available_exposure)
                    else (1 + unavailable_changes) / (1 / coalesce(prior, 1) + unavailable_exposure) end as own_rate,
         case state when 'available' then available_value else unavailable_value end as event_value,
         coalesce(h.value, 1) as departure_factor, coalesce(m.value, 1) as change_factor,
         tickets / nullif(ticket * per_second, 0) as seconds,
         now() + make_interval(secs =>
           greatest(0, least(vdue - v, 1 / ticket)) * tickets / nullif(per_second, 0)) as budget_at
    from fare
    left join rate on rate.name = 'all ' || state
    left join factor h on h.name = 'hazard ' || state
                      and h.bucket = coalesce(width_bucket(extract(epoch from departs_at - now()) / 86400,
                                                           array[1, 2, 4, 7, 11, 16, 30]::numeric[]), 7)
    left join factor m on m.name = 'recency ' || state
                      and m.bucket = coalesce(width_bucket(extract(epoch from now() - changed_at) / 3600,
                                                           array[1, 2, 4, 8, 16, 48]::numeric[]), 6)
), explained as (
  select rated.*, own_rate * departure_factor * change_factor * surprise as changes,
         sqrt(weight * event_value * own_rate * departure_factor * change_factor * surprise) as root,
         0.2 * tickets / greatest(fares, 1) as least_ticket
    from rated
)
select tracked_fare_id, flight_id, return_flight_id,
       changes as changes_per_day,
       ticket,
       format('√(weight %s × event value %s × %s changes a day) = %s at present; changes: %s by its own checks × %s for the time to departure × %s for the time since its last change × %s for late changes of its route',
              round(weight::numeric, 1), round(event_value::numeric, 2), round(changes::numeric, 2), round(root::numeric, 2),
              round(own_rate::numeric, 2), round(departure_factor::numeric, 2), round(change_factor::numeric, 2),
              round(surprise::numeric, 2))
         || case when root < least_ticket then format('; at least a fifth of the mean ticket, %s', round(least_ticket::numeric, 2))
                 else '' end
         || case when max_delay_seconds is not null then format('; at least what a check every %s s needs', max_delay_seconds)
                 else '' end as ticket_why,
       make_interval(secs => greatest(seconds, min_seconds)::float8) as expected_interval,
       case when claim_id is not null then now()
            when lane is not null and lane_due_at is not null then lane_due_at
            when not_before > now() and (budget_at is null or budget_at <= not_before) then not_before
            else coalesce(budget_at, now()) end as next_check_at,
       case when claim_id is not null then 'it is being checked'
            when lane = 'confirmation' then 'a loss, another flight or a doubtful price is checked again after about 20 s'
            when lane = 'new_watch' then 'a watch of it is new'
            when lane = 'retry' then 'the last check was unknown: one early retry'
            when not_before > now() and (budget_at is null or budget_at <= not_before) then 'its minimum interval'
            else 'the fares that are due before it, within the budget' end as next_check_why,
       last_check_at,
       case last_check_why
         when 'scheduled' then 'its turn in the schedule'
         when 'route_moved' then 'its turn, which was sooner because other fares of its route changed'
         when 'new_watch' then 'a watch of it was new'
         when 'confirmation' then 'to confirm a loss, another flight or a doubtful price'
         when 'retry' then 'the check before was unknown'
         when 'on_demand' then 'a question on demand'
         when 'ended' then 'to see whether it has really ended' end as last_check_why
  from explained;
