-- older code: must stop
-- Each flight keeps its site, and its price by passenger; rules and digests of endpoints have names like all others.
-- Older code would not fill the new columns, and reads rules under their old names. No text to compare by is shown any more.

create function leg_prices(leg jsonb)
returns table (price numeric, currency text, adult_price numeric, child_price numeric, infant_price numeric,
               resident_adult_price numeric, resident_child_price numeric, resident_infant_price numeric)
language sql immutable parallel safe as $$
  select (leg ->> 'amount')::numeric, leg ->> 'currency',
         (leg #>> '{nonResidents,adult}')::numeric, (leg #>> '{nonResidents,child}')::numeric,
         (leg #>> '{nonResidents,infant}')::numeric,
         (leg #>> '{residents,adult}')::numeric, (leg #>> '{residents,child}')::numeric,
         (leg #>> '{residents,infant}')::numeric
$$;
comment on function leg_prices is 'The price of a leg in a stored belief as columns: its total, and the price of each passenger, who is no resident unless the name says so. Nulls where no price is believed, and of passengers in what older versions have stored.';

create function shown_belief(belief jsonb) returns jsonb
language sql immutable parallel safe as $$
  select belief #- '{outbound,identity}' #- '{outbound,itinerary}' #- '{return,identity}' #- '{return,itinerary}'
$$;
comment on function shown_belief is 'A stored belief without the texts by which answers are compared.';

alter table fare_flights
  add outbound_site_id text, add outbound_site_name text, add outbound_site_url text,
  add return_site_id text, add return_site_name text, add return_site_url text;
comment on column fare_flights.outbound_site_id is 'Who sells the outbound flight; null where no answer named one.';

alter table fare_belief_version
  add outbound_price numeric,
  add outbound_currency text,
  add outbound_adult_price numeric,
  add outbound_child_price numeric,
  add outbound_infant_price numeric,
  add outbound_resident_adult_price numeric,
  add outbound_resident_child_price numeric,
  add outbound_resident_infant_price numeric,
  add return_price numeric,
  add return_currency text,
  add return_adult_price numeric,
  add return_child_price numeric,
  add return_infant_price numeric,
  add return_resident_adult_price numeric,
  add return_resident_child_price numeric,
  add return_resident_infant_price numeric;
comment on column fare_belief_version.outbound_price is 'The price of the leg when the interval ended, as leg_prices shows it, like the columns after it; null while it holds.';
comment on column fare_belief_version.return_price is 'The price of the leg when the interval ended, as leg_prices shows it, like the columns after it; null while it holds.';

create or replace view shown_flights as
select f.id,
       case when f.outbound_from ~ '^[A-Z]{3}$' then f.outbound_from end as outbound_departure_iata,
       od.place_id as outbound_departure_id,
       case when f.outbound_to ~ '^[A-Z]{3}$' then f.outbound_to end as outbound_destination_iata,
       oa.place_id as outbound_destination_id,
       f.outbound_airline, f.outbound_numbers as outbound_flight_numbers, f.outbound_departs_local,
       case when f.outbound_departs_by is null then f.outbound_departs_local at time zone oz.zone end as outbound_departs_at,
       case when f.return_from ~ '^[A-Z]{3}$' then f.return_from end as return_departure_iata,
       rd.place_id as return_departure_id,
       case when f.return_to ~ '^[A-Z]{3}$' then f.return_to end as return_destination_iata,
       ra.place_id as return_destination_id,
       f.return_airline, f.return_numbers as return_flight_numbers, f.return_departs_local,
       case when f.return_departs_by is null then f.return_departs_local at time zone rz.zone end as return_departs_at,
       f.outbound_site_id, f.outbound_site_name, f.outbound_site_url,
       f.return_site_id, f.return_site_name, f.return_site_url
  from fare_flights f
  left join place_code od on od.iata = f.outbound_from
  left join place_code oa on oa.iata = f.outbound_to
  left join airport oz on oz.iata = f.outbound_from
  left join place_code rd on rd.iata = f.return_from
  left join place_code ra on ra.iata = f.return_to
  left join airport rz on rz.iata = f.return_from;

create or replace view farewatch.fares_current as
select t.id as tracked_fare_id, t.flight_id, t.return_flight_id,
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
       case when s.hidden is null and s.pair = 'bookable' and s.price_checked_at <= clock_timestamp() + interval '10 seconds'
            then s.price_checked_at end as price_checked_at,
       case when s.hidden is null and s.pair = 'bookable'
            then coalesce(s.price_reason, case when p.is_fresh then null else 'stale' end) end as price_reason,
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
 cross join lateral (select coalesce(clock_timestamp() - s.price_checked_at between interval '-10 seconds' and r.fresh_for, false)
                              as is_fresh) a
 cross join lateral (select a.is_fresh,
                            a.is_fresh and s.hidden is null and s.price_reason is distinct from 'held' as is_shown) p
  left join shown_flights f on f.id = s.flights_id
 cross join lateral leg_prices(s.state #> '{belief,outbound,price}') op
 cross join lateral leg_prices(s.state #> '{belief,return,price}') rp;

-- An interval that holds shows the prices of the present state: a check may fill in what older answers did not show.
create or replace view farewatch.fare_history as
select v.tracked_fare_id, v.outbound, v.return as return_leg, v.pair as state, v.price, v.currency, v.valid_from, v.valid_to,
       coalesce(v.price_checked_at, s.price_checked_at) as price_checked_at,
       coalesce(v.price_reason, s.price_reason) as price_reason,
       t.flight_id, t.return_flight_id,
       t.residents_adults, t.residents_children, t.residents_infants,
       t.non_residents_adults, t.non_residents_children, t.non_residents_infants,
       f.outbound_departure_iata, f.outbound_departure_id,
       f.outbound_destination_iata, f.outbound_destination_id,
       f.outbound_airline, f.outbound_flight_numbers, f.outbound_departs_local, f.outbound_departs_at,
       f.return_departure_iata, f.return_departure_id,
       f.return_destination_iata, f.return_destination_id,
       f.return_airline, f.return_flight_numbers, f.return_departs_local, f.return_departs_at,
       md5(jsonb_build_array(v.tracked_fare_id, extract(epoch from v.valid_from))::text) as row_key,
       v.written_in::text::bigint as written_in,
       f.outbound_site_id, f.outbound_site_name, f.outbound_site_url,
       f.return_site_id, f.return_site_name, f.return_site_url,
       coalesce(v.outbound_price, op.price) as outbound_price,
       coalesce(v.outbound_currency, op.currency) as outbound_currency,
       coalesce(v.outbound_adult_price, op.adult_price) as outbound_adult_price,
       coalesce(v.outbound_child_price, op.child_price) as outbound_child_price,
       coalesce(v.outbound_infant_price, op.infant_price) as outbound_infant_price,
       coalesce(v.outbound_resident_adult_price, op.resident_adult_price) as outbound_resident_adult_price,
       coalesce(v.outbound_resident_child_price, op.resident_child_price) as outbound_resident_child_price,
       coalesce(v.outbound_resident_infant_price, op.resident_infant_price) as outbound_resident_infant_price,
       coalesce(v.return_price, rp.price) as return_price,
       coalesce(v.return_currency, rp.currency) as return_currency,
       coalesce(v.return_adult_price, rp.adult_price) as return_adult_price,
       coalesce(v.return_child_price, rp.child_price) as return_child_price,
       coalesce(v.return_infant_price, rp.infant_price) as return_infant_price,
       coalesce(v.return_resident_adult_price, rp.resident_adult_price) as return_resident_adult_price,
       coalesce(v.return_resident_child_price, rp.resident_child_price) as return_resident_child_price,
       coalesce(v.return_resident_infant_price, rp.resident_infant_price) as return_resident_infant_price
  from fare_belief_version v
  left join fare_state s on s.tracked_fare_id = v.tracked_fare_id and v.valid_to is null
  left join tracked_fare t on t.id = v.tracked_fare_id
  left join shown_flights f on f.id = coalesce(v.flights_id, s.flights_id)
 cross join lateral leg_prices(s.state #> '{belief,outbound,price}') op
 cross join lateral leg_prices(s.state #> '{belief,return,price}') rp
 where v.valid_to is null
    or v.valid_to > (select before from history_floor)
    or not exists (select from archivable_fare_belief_version a
                    where (a.tracked_fare_id, a.valid_from) = (v.tracked_fare_id, v.valid_from) and a.archivable_at <= (select before from history_floor));

drop function farewatch.fares_as_of(timestamptz);
create function farewatch.fares_as_of(instant timestamptz)
returns table (tracked_fare_id bigint, flight_id text, return_flight_id text,
               residents_adults smallint, residents_children smallint, residents_infants smallint,
               non_residents_adults smallint, non_residents_children smallint, non_residents_infants smallint,
               outbound text, return_leg text, state text, price numeric, currency text, valid_from timestamptz, expired_at timestamptz,
               outbound_departure_iata text, outbound_departure_id text, outbound_destination_iata text, outbound_destination_id text,
               outbound_airline text, outbound_flight_numbers integer[], outbound_departs_local timestamp, outbound_departs_at timestamptz,
               return_departure_iata text, return_departure_id text, return_destination_iata text, return_destination_id text,
               return_airline text, return_flight_numbers integer[], return_departs_local timestamp, return_departs_at timestamptz,
               outbound_site_id text, outbound_site_name text, outbound_site_url text,
               return_site_id text, return_site_name text, return_site_url text,
               outbound_price numeric, outbound_currency text, outbound_adult_price numeric, outbound_child_price numeric, outbound_infant_price numeric, outbound_resident_adult_price numeric, outbound_resident_child_price numeric, outbound_resident_infant_price numeric,
               return_price numeric, return_currency text, return_adult_price numeric, return_child_price numeric, return_infant_price numeric, return_resident_adult_price numeric, return_resident_child_price numeric, return_resident_infant_price numeric)
language sql stable parallel safe
begin atomic
  select h.tracked_fare_id, h.flight_id, h.return_flight_id,
         h.residents_adults, h.residents_children, h.residents_infants,
         h.non_residents_adults, h.non_residents_children, h.non_residents_infants,
         case when i.holds then h.outbound end, case when i.holds then h.return_leg end,
         case when i.holds then h.state else 'ended' end,
         case when i.holds then h.price end, case when i.holds then h.currency end,
         h.valid_from, case when not i.holds then h.valid_to end,
         h.outbound_departure_iata, h.outbound_departure_id, h.outbound_destination_iata, h.outbound_destination_id,
         h.outbound_airline, h.outbound_flight_numbers, h.outbound_departs_local, h.outbound_departs_at,
         h.return_departure_iata, h.return_departure_id, h.return_destination_iata, h.return_destination_id,
         h.return_airline, h.return_flight_numbers, h.return_departs_local, h.return_departs_at,
         h.outbound_site_id, h.outbound_site_name, h.outbound_site_url,
         h.return_site_id, h.return_site_name, h.return_site_url,
         case when i.holds then h.outbound_price end, case when i.holds then h.outbound_currency end, case when i.holds then h.outbound_adult_price end, case when i.holds then h.outbound_child_price end, case when i.holds then h.outbound_infant_price end, case when i.holds then h.outbound_resident_adult_price end, case when i.holds then h.outbound_resident_child_price end, case when i.holds then h.outbound_resident_infant_price end,
         case when i.holds then h.return_price end, case when i.holds then h.return_currency end, case when i.holds then h.return_adult_price end, case when i.holds then h.return_child_price end, case when i.holds then h.return_infant_price end, case when i.holds then h.return_resident_adult_price end, case when i.holds then h.return_resident_child_price end, case when i.holds then h.return_resident_infant_price end
    from farewatch.fare_history h
   cross join lateral (select h.valid_to is null or h.valid_to > instant as holds) i
   where h.valid_from <= instant
     and (i.holds or not exists (select from farewatch.fare_history n
                                  where n.tracked_fare_id = h.tracked_fare_id
                                    and n.valid_from > h.valid_from and n.valid_from <= instant))
     and farewatch.assert_kept(instant);
end;
comment on function farewatch.fares_as_of is 'What was believed of each tracked fare at an instant, in the columns of fares_current that the history knows. An ended fare is ended until it is believed of again. Raises an error for an instant before the begin of the histories. One row a tracked fare that was checked by then. Key: tracked_fare_id.';

create or replace view farewatch.availability_changes as
select c.seq, c.id,
       case when c.before ->> 'pair' = 'unknown' and c.kind <> 'expired' then 'first_seen' else c.kind end as kind,
       c.tracked_fare_id, shown_belief(c.before) as belief_before, shown_belief(c.after) as belief,
       c.last_good_check_at, c.detected_at, c.recorded_at, c.schema_version, c.reason, c.held_since,
       c.before ->> 'pair' as state_before,
       case when c.kind = 'expired' then 'ended' else c.after ->> 'pair' end as state,
       (c.before #>> '{price,amount}')::numeric as price_before,
       c.before #>> '{price,currency}' as currency_before,
       (c.after #>> '{price,amount}')::numeric as price,
       c.after #>> '{price,currency}' as currency,
       f.outbound ->> 'from' as outbound_departure_iata,
       f.outbound ->> 'to' as outbound_destination_iata,
       f.outbound ->> 'airline' as outbound_airline,
       (f.outbound ->> 'departsAt')::timestamp as outbound_departs_local,
       f.return ->> 'from' as return_departure_iata,
       f.return ->> 'to' as return_destination_iata,
       f.return ->> 'airline' as return_airline,
       (f.return ->> 'departsAt')::timestamp as return_departs_local,
       f.outbound #>> '{site,name}' as outbound_site_name, f.outbound #>> '{site,url}' as outbound_site_url,
       f.return #>> '{site,name}' as return_site_name, f.return #>> '{site,url}' as return_site_url
  from availability_change c
 cross join lateral (select coalesce(nullif(c.after #> '{outbound,flight}', 'null'), c.before #> '{outbound,flight}') as outbound,
                            coalesce(nullif(c.after #> '{return,flight}', 'null'), c.before #> '{return,flight}') as return) f
 where c.seq + 0 >= (select first_seq from feed_head where feed = 'availability');

comment on column farewatch.fares_current.outbound_site_id is 'Who sells the outbound flight, as the upstream numbers it. Null where no answer named a site.';
comment on column farewatch.fares_current.outbound_site_name is 'Its name.';
comment on column farewatch.fares_current.outbound_site_url is 'Its address, a text of the upstream: of any scheme, and never tested.';
comment on column farewatch.fares_current.return_site_id is 'Who sells the return flight, as the upstream numbers it. Null where no answer named a site.';
comment on column farewatch.fares_current.return_site_name is 'Its name.';
comment on column farewatch.fares_current.return_site_url is 'Its address, a text of the upstream: of any scheme, and never tested.';
comment on column farewatch.fares_current.outbound_price is 'Total of the outbound flight for the passenger mix; null while the fare cannot be booked, or the price is not known.';
comment on column farewatch.fares_current.outbound_currency is 'Currency of the prices of this flight.';
comment on column farewatch.fares_current.outbound_adult_price is 'Price of one adult who is no resident; null where the upstream prices none, as for a mix without one.';
comment on column farewatch.fares_current.outbound_child_price is 'Of one child.';
comment on column farewatch.fares_current.outbound_infant_price is 'Of one infant.';
comment on column farewatch.fares_current.outbound_resident_adult_price is 'Price of one resident adult; null where the upstream prices none, as for a mix without one.';
comment on column farewatch.fares_current.outbound_resident_child_price is 'Of one resident child.';
comment on column farewatch.fares_current.outbound_resident_infant_price is 'Of one resident infant.';
comment on column farewatch.fares_current.return_price is 'Total of the return flight for the passenger mix; null while the fare cannot be booked, or the price is not known.';
comment on column farewatch.fares_current.return_currency is 'Currency of the prices of this flight.';
comment on column farewatch.fares_current.return_adult_price is 'Price of one adult who is no resident; null where the upstream prices none, as for a mix without one.';
comment on column farewatch.fares_current.return_child_price is 'Of one child.';
comment on column farewatch.fares_current.return_infant_price is 'Of one infant.';
comment on column farewatch.fares_current.return_resident_adult_price is 'Price of one resident adult; null where the upstream prices none, as for a mix without one.';
comment on column farewatch.fares_current.return_resident_child_price is 'Of one resident child.';
comment on column farewatch.fares_current.return_resident_infant_price is 'Of one resident infant.';
comment on column farewatch.fare_history.outbound_site_id is 'Who sells the outbound flight, as the upstream numbers it. Null where no answer named a site.';
comment on column farewatch.fare_history.outbound_site_name is 'Its name.';
comment on column farewatch.fare_history.outbound_site_url is 'Its address, a text of the upstream: of any scheme, and never tested.';
comment on column farewatch.fare_history.return_site_id is 'Who sells the return flight, as the upstream numbers it. Null where no answer named a site.';
comment on column farewatch.fare_history.return_site_name is 'Its name.';
comment on column farewatch.fare_history.return_site_url is 'Its address, a text of the upstream: of any scheme, and never tested.';
comment on column farewatch.fare_history.outbound_price is 'Total of the outbound flight for the passenger mix; null while the fare cannot be booked, or the price is not known. Null in intervals that ended before farewatch kept it, as are the columns after it.';
comment on column farewatch.fare_history.outbound_currency is 'Currency of the prices of this flight.';
comment on column farewatch.fare_history.outbound_adult_price is 'Price of one adult who is no resident; null where the upstream prices none, as for a mix without one.';
comment on column farewatch.fare_history.outbound_child_price is 'Of one child.';
comment on column farewatch.fare_history.outbound_infant_price is 'Of one infant.';
comment on column farewatch.fare_history.outbound_resident_adult_price is 'Price of one resident adult; null where the upstream prices none, as for a mix without one.';
comment on column farewatch.fare_history.outbound_resident_child_price is 'Of one resident child.';
comment on column farewatch.fare_history.outbound_resident_infant_price is 'Of one resident infant.';
comment on column farewatch.fare_history.return_price is 'Total of the return flight for the passenger mix; null while the fare cannot be booked, or the price is not known. Null in intervals that ended before farewatch kept it, as are the columns after it.';
comment on column farewatch.fare_history.return_currency is 'Currency of the prices of this flight.';
comment on column farewatch.fare_history.return_adult_price is 'Price of one adult who is no resident; null where the upstream prices none, as for a mix without one.';
comment on column farewatch.fare_history.return_child_price is 'Of one child.';
comment on column farewatch.fare_history.return_infant_price is 'Of one infant.';
comment on column farewatch.fare_history.return_resident_adult_price is 'Price of one resident adult; null where the upstream prices none, as for a mix without one.';
comment on column farewatch.fare_history.return_resident_child_price is 'Of one resident child.';
comment on column farewatch.fare_history.return_resident_infant_price is 'Of one resident infant.';
comment on column farewatch.availability_changes.outbound_site_name is 'Who sells the outbound flight since the change; of a loss, before it. Null where no answer named a site.';
comment on column farewatch.availability_changes.outbound_site_url is 'Its address, a text of the upstream: of any scheme, and never tested.';
comment on column farewatch.availability_changes.return_site_name is 'Who sells the return flight since the change; of a loss, before it. Null where no answer named a site.';
comment on column farewatch.availability_changes.return_site_url is 'Its address, a text of the upstream: of any scheme, and never tested.';

update webhook_endpoint e
   set rules = (select jsonb_object_agg(case key when 'sold_out' then 'soldOut' when 'price_below' then 'priceBelow' else key end, value)
                  from jsonb_each(e.rules))
 where rules ?| array['sold_out', 'price_below'];
update webhook_endpoint
   set digest = digest - 'daily_at' || jsonb_build_object('dailyAt', digest -> 'daily_at')
 where digest ? 'daily_at';
