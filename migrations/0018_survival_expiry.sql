-- older code: may run
-- A fare that expires has not sold out: its spell is censored, as one that goes on.
-- It could be bought until nobody looked any more, and is known to last until the last good check before. A fare that is
-- watched anew after it had expired begins a new spell: nobody looked in between.

create or replace view farewatch.availability_survival as
select v.tracked_fare_id, v.available_from, v.available_to,
       v.available_to is null as censored,
       coalesce(v.available_to,
                greatest(v.available_from,
                         case when v.closed_at is null then s.last_good_check_at
                              else (select max(c.last_good_check_at)
                                      from availability_change c
                                     where c.tracked_fare_id = v.tracked_fare_id
                                       and c.kind = 'expired' and c.detected_at <= v.closed_at) end))
         - v.available_from as lasted
  from (select tracked_fare_id, min(valid_from) as available_from,
               case when bool_or(seen_to is null) then null else max(seen_to) end as available_to,
               case when bool_or(valid_to is null) then null else max(valid_to) end as closed_at
          from (select *, sum(starts) over (partition by tracked_fare_id order by valid_from) as spell
                  from (select tracked_fare_id, pair, valid_from, valid_to,
                               -- A check that finds something else begins the next interval where this one ends.
                               case when lead(valid_from) over fare = valid_to then valid_to end as seen_to,
                               ((lag(pair) over fare, lag(valid_to) over fare)
                                is distinct from (pair, valid_from))::int as starts
                          from fare_belief_version
                        window fare as (partition by tracked_fare_id order by valid_from)) b) s
         where pair = 'bookable'
         group by tracked_fare_id, spell) v
  left join fare_state s on s.tracked_fare_id = v.tracked_fare_id;
comment on column farewatch.availability_survival.available_to is 'When the check began by which it was believed gone; null where no check saw that.';
comment on column farewatch.availability_survival.censored is 'Whether its end was not seen: it goes on, or the fare expired while it could be bought (expired_at of availability_current).';
comment on column farewatch.availability_survival.lasted is 'How long it lasted; of one that is censored, how long it was seen to last: until the last good check.';

comment on view farewatch.route_churn_daily is 'Confirmed changes by the UTC day from which on they count: of the list that confirmed them, or of its approval. A day without any has no row.';
comment on column farewatch.availability_history.valid_to is 'When the check began by which something else was, or when the fare expired, where no interval follows at once; null while it holds.';
comment on column farewatch.availability_current.pair is 'bookable (all legs available), not_bookable (any leg unavailable, or the fare has expired), unknown (else).';
comment on column farewatch.availability_changes.detected_at is 'When the first check began that showed it: it happened by then. Of expired: when that was noticed, without a check.';
