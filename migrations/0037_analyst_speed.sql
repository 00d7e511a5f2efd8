-- older code: may run
-- Indexes and forms of the public views by which the documented questions stay fast on a long history.

-- Serves one route's changes. The condition on a departure implies the predicate; "place_id is null" was implied by nothing
-- that a reader of the view asks.
drop index route_change_route;
create index route_change_route on route_change (departure_id, destination_id, seq) where departure_id is not null;
-- Serves one place's changes of attributes.
create index route_change_place on route_change (place_id, seq) where place_id is not null;
-- Serves the changes of a time. The records lie in the order of their times, so a few pages are enough for an index.
create index route_change_recorded on route_change using brin (recorded_at) with (pages_per_range = 32, autosummarize = on);
-- Serves the reasons of availability_survival, and losses and ends without their large JSON.
create index availability_change_ends on availability_change (tracked_fare_id, kind, seq)
  include (detected_at, recorded_at, last_good_check_at, reason) where kind in ('became_unavailable', 'expired');

-- The same order as before. Serves one fare's timeline, and availability_survival without the table.
drop index fare_belief_version_timeline;
create unique index fare_belief_version_timeline on fare_belief_version (tracked_fare_id, valid_from) include (valid_to, pair);

-- The availability of each route is a subquery: PostgreSQL leaves it out where a query does not use it, as it cannot a join.
create or replace function farewatch.routes_as_of(instant timestamptz)
returns table (
  departure_id text, departure_iata text, departure_city text, departure_country text,
  destination_id text, destination_iata text, destination_city text, destination_country text,
  since timestamptz, available boolean
)
language sql stable parallel safe
begin atomic
  select r.departure_id, d.iata, d.city, d.country,
         r.destination_id, a.iata, a.city, a.country,
         r.valid_from,
         (select v.available
            from farewatch.route_availability_history v
           where (v.departure_id, v.destination_id) = (r.departure_id, r.destination_id)
             and v.valid_from <= instant and (v.valid_to is null or v.valid_to > instant))
    from farewatch.route_history r
    join farewatch.place_history d
      on d.place_id = r.departure_id and tstzrange(d.valid_from, d.valid_to) @> instant
    join farewatch.place_history a
      on a.place_id = r.destination_id and tstzrange(a.valid_from, a.valid_to) @> instant
   where tstzrange(r.valid_from, r.valid_to) @> instant;
end;

-- A spell of bookability begins with an interval that continues no bookable one, and ends with one that none continues.
-- One pass finds both, a second one over them alone joins each beginning to its end.
create or replace view farewatch.availability_survival as
select v.tracked_fare_id, v.available_from, v.available_to,
       v.available_to is null as censored,
       coalesce(v.available_to,
                greatest(v.available_from,
                         case when v.closed_at is null
                              then (select s.last_good_check_at from fare_state s where s.tracked_fare_id = v.tracked_fare_id)
                              else (select max(c.last_good_check_at)
                                      from availability_change c
                                     where c.tracked_fare_id = v.tracked_fare_id
                                       and c.kind = 'expired' and c.detected_at <= v.closed_at) end))
         - v.available_from as lasted,
       case when v.closed_at is not null then
            (select c.reason
               from availability_change c
              where c.tracked_fare_id = v.tracked_fare_id and c.detected_at <= v.closed_at
                and c.kind in ('became_unavailable', 'expired')
                and c.kind = case when v.available_to is null then 'expired' else 'became_unavailable' end
              order by c.seq desc
              limit 1) end as reason,
       v.opening_price, v.opening_currency, v.closing_price, v.closing_currency
  from (select tracked_fare_id, begins, valid_from as available_from, price as opening_price, currency as opening_currency,
               case when ends then valid_to else lead(valid_to) over fare end as closed_at,
               case when ends then seen_to else lead(seen_to) over fare end as available_to,
               case when ends then price else lead(price) over fare end as closing_price,
               case when ends then currency else lead(currency) over fare end as closing_currency
          from (select tracked_fare_id, pair, valid_from, valid_to, price, currency,
                       (lag(pair) over fare, lag(valid_to) over fare) is distinct from (pair, valid_from) as begins,
                       (lead(pair) over fare, lead(valid_from) over fare) is distinct from (pair, valid_to) as ends,
                       -- A check that finds something else begins the next interval where this one ends.
                       case when lead(valid_from) over fare = valid_to then valid_to end as seen_to
                  from fare_belief_version
                window fare as (partition by tracked_fare_id order by valid_from)) b
         where pair = 'bookable' and (begins or ends)
        window fare as (partition by tracked_fare_id order by valid_from)) v
 where v.begins;
comment on column farewatch.availability_survival.opening_price is 'The price when the spell began.';
comment on column farewatch.availability_survival.opening_currency is 'Its currency.';
comment on column farewatch.availability_survival.closing_price is 'The last price of the spell.';
comment on column farewatch.availability_survival.closing_currency is 'Its currency.';
