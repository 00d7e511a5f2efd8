-- older code: may run
-- Airports as data for SQL, and an index of questions that name one flight twice.

-- `farewatch migrate` fills it from src/airports/airports.csv, whose head names the source of these facts.
create table airport (
  iata      text             collate "C" primary key,
  country   text             not null,
  continent text             not null,
  latitude  double precision not null,
  longitude double precision not null,
  zone      text             not null
);
comment on table airport is 'Airports that have a code and a time zone, from airport-data-js by Aashish Vivekanand, CC BY 4.0.';
comment on column airport.country is 'ISO 3166-1 alpha-2.';
comment on column airport.continent is 'AF, AN, AS, EU, NA, OC or SA.';
comment on column airport.zone is 'IANA name.';

-- Serves the end of watches from before such questions were refused: nearly empty.
create index tracked_fare_same_flight on tracked_fare (id) where return_flight_id = flight_id;
