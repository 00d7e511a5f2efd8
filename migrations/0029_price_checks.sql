-- older code: must stop
-- The price of a fare has an instant and a reason of its own, because an answer may show a flight without a readable price.
-- A price older than the rule of staleness is shown as unknown, and so is everything dated after the present.

create function pg_temp.with_price_check(leg jsonb) returns jsonb language sql immutable as $$
  select case when jsonb_typeof(leg) = 'object'
              then leg || jsonb_build_object('pricedAt', case when leg -> 'price' <> 'null' then leg -> 'confirmedAt' end,
                                             'priceReason', null, 'candidatePrice', null)
              else leg end
$$;

update fare_state
   set state = state || jsonb_build_object('outbound', pg_temp.with_price_check(state -> 'outbound'),
                                           'return', pg_temp.with_price_check(state -> 'return'))
 where state <> '{}';

drop function pg_temp.with_price_check(jsonb);

alter table fare_state
  add column price_checked_at timestamptz,
  add column price_reason text check (price_reason in ('unreadable', 'unconfirmed', 'mixed_currencies'));
update fare_state
   set price_checked_at = case when price is not null then last_good_check_at end,
       price_reason = case when price is null then 'unreadable' end
 where pair = 'bookable';
comment on column fare_state.price_checked_at is 'When the last check began that showed the price of each leg; null unless the pair is bookable.';
comment on column fare_state.price_reason is 'Why the last answers did not show the price of the bookable pair; null where they did.';

alter table fare_belief_version
  add column price_checked_at timestamptz,
  add column price_reason text;
comment on column fare_belief_version.price_checked_at is 'The value of fare_state when the interval ended; null while it holds.';
comment on column fare_belief_version.price_reason is 'The value of fare_state when the interval ended; null while it holds.';

-- An instant more than 10 seconds ahead of now is one that the clock of the database showed before it was set back.
create or replace view farewatch.availability_current as
select f.id as tracked_fare_id, f.flight_id, f.return_flight_id,
       f.residents_adults, f.residents_children, f.residents_infants,
       f.non_residents_adults, f.non_residents_children, f.non_residents_infants,
       s.outbound, s.return, s.pair,
       case when clock_timestamp() - s.price_checked_at between interval '-10 seconds' and r.fresh_for
            then s.price end as price,
       case when clock_timestamp() - s.price_checked_at between interval '-10 seconds' and r.fresh_for
            then s.currency end as currency,
       case when s.last_good_check_at <= clock_timestamp() + interval '10 seconds'
            then s.last_good_check_at end as last_good_check_at,
       case when s.last_good_check_at <= clock_timestamp() + interval '10 seconds'
            then clock_timestamp() - s.last_good_check_at end as age,
       s.expired_at is null
         and coalesce(clock_timestamp() - s.last_good_check_at
                        not between interval '-10 seconds' and r.fresh_for, true) as stale,
       s.last_check_at, s.last_reason, s.ever_available_at, s.expired_at, f.ended_at, f.created_at,
       case when s.pair = 'bookable' and s.price_checked_at <= clock_timestamp() + interval '10 seconds'
            then s.price_checked_at end as price_checked_at,
       case when s.pair = 'bookable'
            then coalesce(s.price_reason,
                          case when clock_timestamp() - s.price_checked_at between interval '-10 seconds' and r.fresh_for
                               then null else 'stale' end) end as price_reason
  from tracked_fare f
  join fare_state s on s.tracked_fare_id = f.id
 cross join recheck_clock c
 cross join lateral (select greatest(
                              interval '1 hour',
                              6 * greatest(make_interval(secs => coalesce(f.min_interval_seconds, 0)),
                                           c.expected_interval)) as fresh_for) r;
comment on column farewatch.availability_current.price is 'Sum of the legs'' totals for the passenger mix; null unless in one currency, and where no check showed it for as long as makes a belief stale.';
comment on column farewatch.availability_current.price_checked_at is 'When the last check began that showed the price of each leg. Null unless the pair is bookable.';
comment on column farewatch.availability_current.price_reason is 'Why the last answers did not show the price of a bookable pair: unreadable, unconfirmed (another currency, or a change by more than half, seen once), mixed_currencies (of the legs); stale where there were none. Null where they did.';

create or replace view farewatch.availability_history as
select v.tracked_fare_id, v.outbound, v.return, v.pair, v.price, v.currency, v.valid_from, v.valid_to,
       coalesce(v.price_checked_at, s.price_checked_at) as price_checked_at,
       coalesce(v.price_reason, s.price_reason) as price_reason
  from fare_belief_version v
  left join fare_state s on s.tracked_fare_id = v.tracked_fare_id and v.valid_to is null;
comment on column farewatch.availability_history.price_checked_at is 'When the last check of the interval began that showed the price. After it nothing confirmed the price. Null where no price was believed, and in intervals that ended before this was kept.';
comment on column farewatch.availability_history.price_reason is 'Why the last answers of the interval did not show the price of a bookable pair; null where they did.';
