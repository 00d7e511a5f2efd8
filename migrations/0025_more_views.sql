-- older code: may run
-- Fares at an instant, delays of records, shares of hubs and airlines, prices by day, and the facts of a fare's change as columns.
-- Older code computes days without airlines and delays: "farewatch rollup --from" computes them again.

create table daily_airlines (
  day        date    not null,
  airline    text    not null,
  fares      integer not null,
  bookable   integer not null,
  written_in xid8    not null default pg_current_xact_id(),
  primary key (day, airline)
);
comment on table daily_airlines is 'Fares of each airline by day. Behind the public view of the same name.';

create table daily_delays (
  day             date    not null,
  kind            text    not null,
  changes         integer not null,
  at_least_median numeric not null,
  at_least_p95    numeric not null,
  at_most_median  numeric,
  at_most_p95     numeric,
  written_in      xid8    not null default pg_current_xact_id(),
  primary key (day, kind)
);
comment on table daily_delays is 'How late changes were recorded by day. Behind the public view of the same name.';

-- Like routes_as_of: a filter reads only its rows, and the last condition is checked once.
create function farewatch.fares_as_of(instant timestamptz)
returns table (
  tracked_fare_id bigint, flight_id text, return_flight_id text,
  residents_adults smallint, residents_children smallint, residents_infants smallint,
  non_residents_adults smallint, non_residents_children smallint, non_residents_infants smallint,
  outbound text, "return" text, state text, price numeric, currency text, valid_from timestamptz,
  outbound_departure_iata text, outbound_departure_id text, outbound_destination_iata text, outbound_destination_id text,
  outbound_airline text, outbound_flight_numbers integer[], outbound_departs_local timestamp, outbound_departs_at timestamptz,
  return_departure_iata text, return_departure_id text, return_destination_iata text, return_destination_id text,
  return_airline text, return_flight_numbers integer[], return_departs_local timestamp, return_departs_at timestamptz
)
language sql stable parallel safe
begin atomic
  select h.tracked_fare_id, h.flight_id, h.return_flight_id,
         h.residents_adults, h.residents_children, h.residents_infants,
         h.non_residents_adults, h.non_residents_children, h.non_residents_infants,
         h.outbound, h.return, h.state, h.price, h.currency, h.valid_from,
         h.outbound_departure_iata, h.outbound_departure_id, h.outbound_destination_iata, h.outbound_destination_id,
         h.outbound_airline, h.outbound_flight_numbers, h.outbound_departs_local, h.outbound_departs_at,
         h.return_departure_iata, h.return_departure_id, h.return_destination_iata, h.return_destination_id,
         h.return_airline, h.return_flight_numbers, h.return_departs_local, h.return_departs_at
    from farewatch.fare_history h
   where h.valid_from <= instant and (h.valid_to is null or h.valid_to > instant)
     and farewatch.assert_kept(instant);
end;
comment on function farewatch.fares_as_of(timestamptz) is 'What was believed of each tracked fare at an instant, in the columns of fare_history. A fare of which nothing was believed has no row. Raises an error for an instant before the begin of the histories.';

-- A record of a loss shows no flight any more: then it is the one before.
create or replace view farewatch.availability_changes as
select c.seq, c.id, c.kind, c.tracked_fare_id, c.before, c.after, c.last_good_check_at, c.detected_at, c.recorded_at, c.schema_version,
       c.reason, c.held_since,
       c.before ->> 'pair' as state_before,
       c.after ->> 'pair' as state,
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
       (f.return ->> 'departsAt')::timestamp as return_departs_local
  from availability_change c
 cross join lateral (select coalesce(nullif(c.after #> '{outbound,flight}', 'null'), c.before #> '{outbound,flight}') as outbound,
                            coalesce(nullif(c.after #> '{return,flight}', 'null'), c.before #> '{return,flight}') as return) f
 where c.seq + 0 >= (select first_seq from feed_head where feed = 'availability');
comment on column farewatch.availability_changes.state_before is 'State of the pair before: bookable, not_bookable or unknown.';
comment on column farewatch.availability_changes.state is 'State of the pair since.';
comment on column farewatch.availability_changes.price_before is 'Price of the pair before; null where it had none.';
comment on column farewatch.availability_changes.currency_before is 'Its currency.';
comment on column farewatch.availability_changes.price is 'Price of the pair since; null where it has none.';
comment on column farewatch.availability_changes.currency is 'Its currency.';
comment on column farewatch.availability_changes.outbound_departure_iata is 'Airport code of the departure of the outbound flight since the change; of a loss, before it. Null where neither shows the flight, or it has no code.';
comment on column farewatch.availability_changes.outbound_destination_iata is 'Airport code of the destination of the outbound flight, likewise.';
comment on column farewatch.availability_changes.outbound_airline is 'Name of the airline, or its code where it has no name.';
comment on column farewatch.availability_changes.outbound_departs_local is 'Local time of the departure, without a zone.';
comment on column farewatch.availability_changes.return_departure_iata is 'Airport code of the departure of the return flight since the change; of a loss, before it. Null where neither shows the flight, or it has no code.';
comment on column farewatch.availability_changes.return_destination_iata is 'Airport code of the destination of the return flight, likewise.';
comment on column farewatch.availability_changes.return_airline is 'Name of the airline, or its code where it has no name.';
comment on column farewatch.availability_changes.return_departs_local is 'Local time of the departure, without a zone.';

create view farewatch.daily_hubs as
select day, place_id, destinations,
       destinations / (sum(destinations) over of_day)::double precision as share,
       rank() over (of_day order by destinations desc) as rank,
       written_in::text::bigint as written_in
  from daily_place_degree
 where destinations > 0
window of_day as (partition by day);
comment on view farewatch.daily_hubs is 'The share of each place in all departures of the network at the end of each UTC day. A place without live routes from it has no row.';
comment on column farewatch.daily_hubs.day is 'The day, in UTC.';
comment on column farewatch.daily_hubs.place_id is 'The place.';
comment on column farewatch.daily_hubs.destinations is 'Live routes from the place.';
comment on column farewatch.daily_hubs.share is 'These by all live routes of the day: the shares of a day sum to 1.';
comment on column farewatch.daily_hubs.rank is '1 for the place with the most routes from it. Equal places have the same rank.';
comment on column farewatch.daily_hubs.written_in is 'The transaction that computed the day last: all rows of a day have the same one.';

create view farewatch.daily_airlines as
select day, airline, fares, bookable,
       fares / (sum(fares) over of_day)::double precision as share,
       rank() over (of_day order by fares desc) as rank,
       written_in::text::bigint as written_in
  from daily_airlines
window of_day as (partition by day);
comment on view farewatch.daily_airlines is 'The share of each airline in the tracked fares at the end of each UTC day. Fares whose flight is unknown or had departed are not counted. The route lists name no airlines.';
comment on column farewatch.daily_airlines.day is 'The day, in UTC.';
comment on column farewatch.daily_airlines.airline is 'Airline of the outbound flight: its name, or its code where it has no name. Empty where it has neither.';
comment on column farewatch.daily_airlines.fares is 'Tracked fares of the airline.';
comment on column farewatch.daily_airlines.bookable is 'Those among them that were believed bookable.';
comment on column farewatch.daily_airlines.share is 'Its fares by all fares of the day: the shares of a day sum to 1.';
comment on column farewatch.daily_airlines.rank is '1 for the airline with the most fares. Equal airlines have the same rank.';
comment on column farewatch.daily_airlines.written_in is 'The transaction that computed the day last: all rows of a day have the same one.';

create view farewatch.daily_delays as
select day, kind, changes, at_least_median, at_least_p95, at_most_median, at_most_p95,
       written_in::text::bigint as written_in
  from daily_delays;
comment on view farewatch.daily_delays is 'How late changes were recorded, by the UTC day of the record and by kind. A change happened between the last list or check that showed the old state and the first one that did not. So its delay lies between two bounds: from the first that showed it to the record (at_least), and from the last that did not to the record (at_most). Ends of fares are not counted, because the clock finds them.';
comment on column farewatch.daily_delays.day is 'The day, in UTC.';
comment on column farewatch.daily_delays.kind is 'The kind of the change, as in route_changes and availability_changes.';
comment on column farewatch.daily_delays.changes is 'Changes of this kind that were recorded on the day.';
comment on column farewatch.daily_delays.at_least_median is 'Median of the least possible delay, in seconds: recorded_at less first_missed_at of a route or place, less detected_at of a fare. It is the time for confirmations, and for which a guard held the change.';
comment on column farewatch.daily_delays.at_least_p95 is 'The least possible delay that 95 % of the changes did not exceed.';
comment on column farewatch.daily_delays.at_most_median is 'Median of the greatest possible delay, in seconds: recorded_at less last_seen_at of a route or place, less last_good_check_at of a fare. It has the time between two lists or checks in addition. Null where nothing was known before.';
comment on column farewatch.daily_delays.at_most_p95 is 'The greatest possible delay that 95 % of the changes did not exceed; null likewise.';
comment on column farewatch.daily_delays.written_in is 'The transaction that computed the day last: all rows of a day have the same one.';

create view farewatch.daily_prices as
select day, departure_iata, destination_iata, departure_id, destination_id, has_return,
       residents_adults, residents_children, residents_infants,
       non_residents_adults, non_residents_children, non_residents_infants, currency,
       sum(bookable) as fares, round(sum(median * bookable) / sum(bookable), 2) as average, min(p10) as p10, max(p90) as p90,
       written_in::text::bigint as written_in
  from daily_fares
 where median is not null
 group by day, departure_iata, destination_iata, departure_id, destination_id, has_return,
          residents_adults, residents_children, residents_infants,
          non_residents_adults, non_residents_children, non_residents_infants, currency, written_in;
comment on view farewatch.daily_prices is 'The prices of each route at the end of each UTC day, by passenger mix and currency: the groups of daily_fares over all days to departure. Groups without a price in one currency are not counted.';
comment on column farewatch.daily_prices.day is 'The day, in UTC.';
comment on column farewatch.daily_prices.departure_iata is 'Airport code of the departure of the outbound flight.';
comment on column farewatch.daily_prices.destination_iata is 'Airport code of the destination of the outbound flight.';
comment on column farewatch.daily_prices.departure_id is 'The place with this code, by which fares join routes; null where no place or several places had it when the day was computed.';
comment on column farewatch.daily_prices.destination_id is 'The place with this code; null as above.';
comment on column farewatch.daily_prices.has_return is 'Whether the fares have a return flight.';
comment on column farewatch.daily_prices.residents_adults is 'Resident adults of the passenger mix. Prices of different mixes are never compared.';
comment on column farewatch.daily_prices.residents_children is 'Resident children.';
comment on column farewatch.daily_prices.residents_infants is 'Resident infants.';
comment on column farewatch.daily_prices.non_residents_adults is 'Non-resident adults.';
comment on column farewatch.daily_prices.non_residents_children is 'Non-resident children.';
comment on column farewatch.daily_prices.non_residents_infants is 'Non-resident infants.';
comment on column farewatch.daily_prices.currency is 'The currency of the prices.';
comment on column farewatch.daily_prices.fares is 'Bookable fares behind the prices.';
comment on column farewatch.daily_prices.average is 'The average of the medians of the groups, each weighted by its bookable fares.';
comment on column farewatch.daily_prices.p10 is 'The smallest p10 of the groups.';
comment on column farewatch.daily_prices.p90 is 'The largest p90 of the groups.';
comment on column farewatch.daily_prices.written_in is 'The transaction that computed the day last: all rows of a day have the same one.';

create view farewatch.prices_by_days_to_departure as
select departure_iata, destination_iata, departure_id, destination_id, has_return,
       residents_adults, residents_children, residents_infants,
       non_residents_adults, non_residents_children, non_residents_infants, currency, days_to_departure,
       count(*) as days, sum(bookable) as fares, round(sum(median * bookable) / sum(bookable), 2) as average, min(p10) as p10, max(p90) as p90
  from daily_fares
 where median is not null
 group by departure_iata, destination_iata, departure_id, destination_id, has_return,
          residents_adults, residents_children, residents_infants,
          non_residents_adults, non_residents_children, non_residents_infants, currency, days_to_departure;
comment on view farewatch.prices_by_days_to_departure is 'The prices of each route by the days before departure, by passenger mix and currency: the groups of daily_fares over all days that were computed. Groups without a price in one currency are not counted.';
comment on column farewatch.prices_by_days_to_departure.departure_iata is 'Airport code of the departure of the outbound flight.';
comment on column farewatch.prices_by_days_to_departure.destination_iata is 'Airport code of the destination of the outbound flight.';
comment on column farewatch.prices_by_days_to_departure.departure_id is 'The place with this code, by which fares join routes; null where no place or several places had it when the day was computed.';
comment on column farewatch.prices_by_days_to_departure.destination_id is 'The place with this code; null as above.';
comment on column farewatch.prices_by_days_to_departure.has_return is 'Whether the fares have a return flight.';
comment on column farewatch.prices_by_days_to_departure.residents_adults is 'Resident adults of the passenger mix. Prices of different mixes are never compared.';
comment on column farewatch.prices_by_days_to_departure.residents_children is 'Resident children.';
comment on column farewatch.prices_by_days_to_departure.residents_infants is 'Resident infants.';
comment on column farewatch.prices_by_days_to_departure.non_residents_adults is 'Non-resident adults.';
comment on column farewatch.prices_by_days_to_departure.non_residents_children is 'Non-resident children.';
comment on column farewatch.prices_by_days_to_departure.non_residents_infants is 'Non-resident infants.';
comment on column farewatch.prices_by_days_to_departure.currency is 'The currency of the prices.';
comment on column farewatch.prices_by_days_to_departure.days_to_departure is 'Days to the local date of the outbound departure.';
comment on column farewatch.prices_by_days_to_departure.days is 'Days that have such a price.';
comment on column farewatch.prices_by_days_to_departure.fares is 'Bookable fares behind the prices, each counted on each of these days.';
comment on column farewatch.prices_by_days_to_departure.average is 'The average of the medians of these days, each weighted by its bookable fares.';
comment on column farewatch.prices_by_days_to_departure.p10 is 'The smallest p10 of these days.';
comment on column farewatch.prices_by_days_to_departure.p90 is 'The largest p90 of these days.';

grant select on
  farewatch.daily_hubs, farewatch.daily_airlines, farewatch.daily_delays, farewatch.daily_prices, farewatch.prices_by_days_to_departure
  to farewatch_analyst;
