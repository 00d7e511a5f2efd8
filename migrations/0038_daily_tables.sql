-- older code: may run
-- Tables by UTC day, so that questions over years read rows by the hundred instead of the history.
-- The worker writes them once a day is over, and again when a list that is applied later belongs to it.

-- The days that were computed, and when.
create table daily_rollup (
  day         date        primary key,
  computed_at timestamptz not null
);

create table daily_network (
  day date not null,
  country text not null,
  live integer not null,
  available integer not null,
  known integer not null,
  added integer not null,
  removed integer not null,
  primary key (day, country)
);
create view farewatch.daily_network as
select day, country, live, available, known, added, removed
  from daily_network;
comment on view farewatch.daily_network is 'The network at the end of each UTC day, by country of departure, and what changed on the day. A country without live routes and changes has no row.';
comment on column farewatch.daily_network.day is 'The day, in UTC.';
comment on column farewatch.daily_network.country is 'Country of the departure place: at the end of the day for the live routes, at valid_at for the changes. May be empty.';
comment on column farewatch.daily_network.live is 'Routes that were live at the end of the day.';
comment on column farewatch.daily_network.available is 'Those among them that were listed as available.';
comment on column farewatch.daily_network.known is 'Those among them whose availability was known.';
comment on column farewatch.daily_network.added is 'Routes that were added on the day.';
comment on column farewatch.daily_network.removed is 'Routes that were removed on the day.';

create table daily_country_pairs (
  day date not null,
  departure_country text not null,
  destination_country text not null,
  live integer not null,
  available integer not null,
  primary key (day, departure_country, destination_country)
);
create view farewatch.daily_country_pairs as
select day, departure_country, destination_country, live, available
  from daily_country_pairs;
comment on view farewatch.daily_country_pairs is 'The network at the end of each UTC day, by country of departure and of destination.';
comment on column farewatch.daily_country_pairs.day is 'The day, in UTC.';
comment on column farewatch.daily_country_pairs.departure_country is 'Country of the departure place at the end of the day; may be empty.';
comment on column farewatch.daily_country_pairs.destination_country is 'Country of the destination place at the end of the day; may be empty.';
comment on column farewatch.daily_country_pairs.live is 'Routes that were live at the end of the day.';
comment on column farewatch.daily_country_pairs.available is 'Those among them that were listed as available.';

create table daily_place_degree (
  day date not null,
  place_id text not null,
  destinations integer not null,
  origins integer not null,
  primary key (day, place_id)
);
-- Serves one place over time.
create index daily_place_degree_place on daily_place_degree (place_id, day);
create view farewatch.daily_place_degree as
select day, place_id, destinations, origins
  from daily_place_degree;
comment on view farewatch.daily_place_degree is 'The number of routes from and to each place at the end of each UTC day. A place without live routes has no row.';
comment on column farewatch.daily_place_degree.day is 'The day, in UTC.';
comment on column farewatch.daily_place_degree.place_id is 'The place.';
comment on column farewatch.daily_place_degree.destinations is 'Live routes from the place.';
comment on column farewatch.daily_place_degree.origins is 'Live routes to the place.';

create table daily_fares (
  day date not null,
  departure_iata text,
  destination_iata text,
  departure_place_id text,
  destination_place_id text,
  days_to_departure integer not null,
  has_return boolean not null,
  residents_adults integer not null,
  residents_children integer not null,
  residents_infants integer not null,
  non_residents_adults integer not null,
  non_residents_children integer not null,
  non_residents_infants integer not null,
  fares integer not null,
  bookable integer not null,
  bookable_share numeric,
  currency text,
  p10 numeric,
  median numeric,
  p90 numeric
);
-- Serves the deletion of a day that is computed again, and questions over a range of days.
create index daily_fares_day on daily_fares (day);
-- Serves one route over time.
create index daily_fares_route on daily_fares (departure_iata, destination_iata, day);
create view farewatch.daily_fares as
select day, departure_iata, destination_iata, departure_place_id, destination_place_id, days_to_departure, has_return, residents_adults, residents_children, residents_infants, non_residents_adults, non_residents_children, non_residents_infants, fares, bookable, bookable_share, currency, p10, median, p90
  from daily_fares;
comment on view farewatch.daily_fares is 'What was believed of the tracked fares at the end of each UTC day, by route, days to departure and passenger mix. Fares whose flight is unknown or had departed are not counted.';
comment on column farewatch.daily_fares.day is 'The day, in UTC.';
comment on column farewatch.daily_fares.departure_iata is 'Airport code of the departure of the outbound flight.';
comment on column farewatch.daily_fares.destination_iata is 'Airport code of the destination of the outbound flight.';
comment on column farewatch.daily_fares.departure_place_id is 'The place with this code, by which fares join routes; null where no place or several places had it when the day was computed.';
comment on column farewatch.daily_fares.destination_place_id is 'The place with this code; null as above.';
comment on column farewatch.daily_fares.days_to_departure is 'Days from this day to the local date of the outbound departure.';
comment on column farewatch.daily_fares.has_return is 'Whether the fares have a return flight.';
comment on column farewatch.daily_fares.residents_adults is 'Resident adults of the passenger mix. Prices of different mixes are never compared.';
comment on column farewatch.daily_fares.residents_children is 'Resident children.';
comment on column farewatch.daily_fares.residents_infants is 'Resident infants.';
comment on column farewatch.daily_fares.non_residents_adults is 'Non-resident adults.';
comment on column farewatch.daily_fares.non_residents_children is 'Non-resident children.';
comment on column farewatch.daily_fares.non_residents_infants is 'Non-resident infants.';
comment on column farewatch.daily_fares.fares is 'Tracked fares of this group.';
comment on column farewatch.daily_fares.bookable is 'Those among them that were believed bookable.';
comment on column farewatch.daily_fares.bookable_share is 'bookable by the number of fares whose state was known; null where none was.';
comment on column farewatch.daily_fares.currency is 'The currency of the prices; null where the bookable fares have none or several.';
comment on column farewatch.daily_fares.p10 is 'The price below or at which a tenth of the bookable fares were; null without a single currency.';
comment on column farewatch.daily_fares.median is 'The median of their prices; null without a single currency.';
comment on column farewatch.daily_fares.p90 is 'The price below or at which nine tenths were; null without a single currency.';

grant select on farewatch.daily_network, farewatch.daily_country_pairs, farewatch.daily_place_degree, farewatch.daily_fares to farewatch_analyst;
