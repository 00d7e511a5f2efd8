-- older code: may run
-- A spell that has not ended is known to last until its last good check, not until now.
-- Of fares that nobody watches any more, and while the upstream is away, it would grow without anybody having looked.

create or replace view farewatch.availability_survival as
select v.tracked_fare_id, v.valid_from as available_from, v.valid_to as available_to,
       v.valid_to is null as censored,
       coalesce(v.valid_to, greatest(s.last_good_check_at, v.valid_from)) - v.valid_from as lasted
  from (select tracked_fare_id, min(valid_from) as valid_from,
               case when bool_or(valid_to is null) then null else max(valid_to) end as valid_to
          from (select *, sum(starts) over (partition by tracked_fare_id order by valid_from) as spell
                  from (select tracked_fare_id, pair, valid_from, valid_to,
                               (lag(pair) over (partition by tracked_fare_id order by valid_from)
                                is distinct from pair)::int as starts
                          from fare_belief_version) b) s
         where pair = 'bookable'
         group by tracked_fare_id, spell) v
  left join fare_state s on s.tracked_fare_id = v.tracked_fare_id;
comment on column farewatch.availability_survival.lasted is 'How long it lasted; of one that is censored, how long it was seen to last: until the last good check.';
