-- older code: may run
-- What is shown of a price is said once, for analysts and for resellers, by a stable function that becomes part of the query.
create function shown_price(s fare_state, fresh_for interval)
returns table (checked_at timestamptz, reason text, is_shown boolean)
language sql stable parallel safe
begin atomic
  select case when b.is_bookable and s.price_checked_at <= statement_timestamp() + interval '10 seconds' then s.price_checked_at end,
         case when b.is_bookable then coalesce(s.price_reason, case when not f.is_fresh then 'stale' end) end,
         b.is_bookable and f.is_fresh and s.price_reason is distinct from 'held'
    from (select coalesce(s.hidden is null and s.pair = 'bookable', false) as is_bookable) b
   cross join (select coalesce(statement_timestamp() - s.price_checked_at between interval '-10 seconds' and fresh_for, false) as is_fresh) f;
end;
comment on function shown_price is 'Of a fare whose beliefs are fresh for so long: when an answer showed its price, why none is shown or the last answers lacked it, and whether it is shown.';

create or replace view farewatch.fares_current as
select t.id as fare_id, t.flight_id, t.return_flight_id,
       t.residents_adults, t.residents_children, t.residents_infants,
       t.non_residents_adults, t.non_residents_children, t.non_residents_infants,
       case when s.expired_at is null then case when s.hidden is null then s.outbound else 'unknown' end end as outbound,
       case when s.expired_at is null then case when s.hidden is null or s.return is null then s.return else 'unknown' end end as return_leg,
       case when s.expired_at is not null then 'ended' when s.hidden is null then s.pair else 'unknown' end as state,
       case when p.is_shown then s.price end as price,
       case when p.is_shown then s.currency end as currency,
       case when s.last_good_check_at <= clock_timestamp() + interval '10 seconds'
            then s.last_good_check_at end as last_good_check_at,
       case when s.last_good_check_at <= clock_timestamp() + interval '10 seconds'
            then extract(epoch from clock_timestamp() - s.last_good_check_at)::double precision end as age_seconds,
       s.expired_at is null
         and coalesce(clock_timestamp() - s.last_good_check_at
                        not between interval '-10 seconds' and r.fresh_for, true) as stale,
       s.last_check_at, s.last_reason, s.ever_available_at as first_bookable_at, s.expired_at,
       t.ended_at as last_watch_ended_at, t.created_at,
       p.checked_at as price_checked_at, p.reason as price_reason,
       f.outbound_departure_iata, f.outbound_departure_id,
       f.outbound_destination_iata, f.outbound_destination_id,
       f.outbound_airline, f.outbound_flight_numbers, f.outbound_departs_local, f.outbound_departs_at,
       f.return_departure_iata, f.return_departure_id,
       f.return_destination_iata, f.return_destination_id,
       f.return_airline, f.return_flight_numbers, f.return_departs_local, f.return_departs_at,
       s.hidden as hidden_reason, s.contradicted_since, s.held_since,
       f.outbound_site_id, f.outbound_site_name, f.outbound_site_url,
       f.return_site_id, f.return_site_name, f.return_site_url,
       case when p.is_shown then op.price end as outbound_price,
       case when p.is_shown then op.currency end as outbound_currency,
       case when p.is_shown then op.adult_price end as outbound_adult_price,
       case when p.is_shown then op.child_price end as outbound_child_price,
       case when p.is_shown then op.infant_price end as outbound_infant_price,
       case when p.is_shown then op.resident_adult_price end as outbound_resident_adult_price,
       case when p.is_shown then op.resident_child_price end as outbound_resident_child_price,
       case when p.is_shown then op.resident_infant_price end as outbound_resident_infant_price,
       case when p.is_shown then rp.price end as return_price,
       case when p.is_shown then rp.currency end as return_currency,
       case when p.is_shown then rp.adult_price end as return_adult_price,
       case when p.is_shown then rp.child_price end as return_child_price,
       case when p.is_shown then rp.infant_price end as return_infant_price,
       case when p.is_shown then rp.resident_adult_price end as return_resident_adult_price,
       case when p.is_shown then rp.resident_child_price end as return_resident_child_price,
       case when p.is_shown then rp.resident_infant_price end as return_resident_infant_price
  from tracked_fare t
  join fare_state s on s.tracked_fare_id = t.id
  left join fare_schedule q on q.tracked_fare_id = t.id
 cross join lateral (select fresh_for(q.rate) as fresh_for) r
 cross join lateral shown_price(s, r.fresh_for) p
  left join shown_flights f on f.id = s.flights_id
 cross join lateral leg_prices(s.state #> '{belief,outbound,price}') op
 cross join lateral leg_prices(s.state #> '{belief,return,price}') rp;
