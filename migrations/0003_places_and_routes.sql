-- older code: must stop
-- Places, routes and their availability, each as intervals of valid time: the open interval holds now.
-- What accepted lists show and is not confirmed yet is pending. Confirmed changes are a feed.

create table place_version (
  place_id   text        not null,
  iata       text        not null,
  city       text        not null,
  country    text        not null,
  valid_from timestamptz not null,
  valid_to   timestamptz,
  check (valid_from < valid_to)
);
comment on table place_version is 'The attributes of places, as intervals.';
-- At most one open version a place; serves every join from an id to its attributes.
create unique index place_version_open on place_version (place_id) where valid_to is null;
-- Serves one place's timeline and routes_as_of.
create unique index place_version_timeline on place_version (place_id, valid_from);
-- As route_version_life.
create statistics place_version_life on (tstzrange(valid_from, valid_to)) from place_version;

create table pending_place (
  place_id        text        primary key,
  iata            text        not null,
  city            text        not null,
  country         text        not null,
  lists           integer     not null check (lists > 0),
  last_seen_at    timestamptz not null,
  first_missed_at timestamptz not null
);
comment on table pending_place is 'Attributes of places that a list gave, until enough lists in a row confirm them.';

create table place_code (
  iata     text primary key,
  place_id text
);
comment on table place_code is 'The place that has an airport code in the present route lists.';
comment on column place_code.place_id is 'Null where several places have the code.';

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

create table route_version (
  departure_id    text        not null,
  destination_id  text        not null,
  valid_from      timestamptz not null,
  valid_to        timestamptz,
  added_by        bigint      not null references sync_run,
  removed_by      bigint      references sync_run,
  last_seen_at    timestamptz,
  first_missed_at timestamptz,
  changed_at      timestamptz default clock_timestamp(),
  check (valid_from < valid_to)
);
comment on table route_version is 'The existence of routes, as intervals.';
comment on column route_version.changed_at is 'When the row was written last. Runs of a list follow each other, so rows of a later run have later values.';
-- At most one open version a route; serves "what flies now", and the diff of every snapshot.
create unique index route_version_open on route_version (departure_id, destination_id) where valid_to is null;
-- Serves the guard's "removed in the last 24 hours".
create index route_version_ended on route_version (valid_to) where valid_to is not null;
-- Serves one route's timeline, routes_as_of for one departure place and, in the order of ids, the pages of an export;
-- no two versions begin together.
create unique index route_version_timeline on route_version (departure_id, destination_id, valid_from) include (valid_to);
-- Serves the routes to a place, and places.last_seen_at.
create index route_version_destination on route_version (destination_id);
-- The planner multiplies the shares of "began by then" and "had not ended by then", gets five times too much of a long
-- history, and scans whole tables. Of ranges it keeps bounds and lengths, and knows how many hold an instant.
create statistics route_version_life on (tstzrange(valid_from, valid_to)) from route_version;
-- Without these the planner expects far too few pairs, and hashes a million groups on disk instead of reading the index in order.
create statistics route_version_pairs (ndistinct) on departure_id, destination_id from route_version;

create table route_availability_version (
  departure_id   text        not null,
  destination_id text        not null,
  available      boolean     not null,
  valid_from     timestamptz not null,
  valid_to       timestamptz,
  check (valid_from < valid_to)
);
comment on table route_availability_version is 'The availability of routes, as intervals.';
-- At most one open availability a route; serves routes_current and the diff of every snapshot.
create unique index route_availability_version_open on route_availability_version (departure_id, destination_id)
  where valid_to is null;
-- Serves one route's timeline, and the availability of each route of routes_as_of.
create unique index route_availability_version_timeline on route_availability_version (departure_id, destination_id, valid_from)
  include (valid_to, available);

create table pending_absence (
  list            text        not null check (list in ('routes', 'with-availability')),
  departure_id    text        not null,
  destination_id  text        not null,
  absences        integer     not null check (absences > 0),
  last_seen_at    timestamptz not null,
  first_missed_at timestamptz not null,
  primary key (list, departure_id, destination_id)
);
comment on table pending_absence is 'Routes that the last accepted lists lacked, until enough lists in a row confirm it.';

create table route_change (
  seq             bigint      primary key,
  id              uuid        not null default uuidv7() unique,
  kind            text        not null
                        check (kind in ('route_added', 'route_removed', 'route_gained_availability',
                          'route_lost_availability', 'place_changed')),
  departure_id    text,
  destination_id  text,
  place_id        text,
  before          jsonb,
  after           jsonb,
  last_seen_at    timestamptz,
  first_missed_at timestamptz not null,
  recorded_at     timestamptz not null default clock_timestamp(),
  sync_run_id     bigint      not null references sync_run,
  check ((kind = 'place_changed') = (place_id is not null)),
  check ((place_id is null) = (departure_id is not null and destination_id is not null))
);
comment on table route_change is 'The feed of routes and places. Never pruned, only archived.';
-- Serves "what did this run change".
create index route_change_run on route_change (sync_run_id);
-- Serves one route's changes.
create index route_change_route on route_change (departure_id, destination_id, seq) where departure_id is not null;
-- Serves one place's changes of attributes.
create index route_change_place on route_change (place_id, seq) where place_id is not null;
-- Serves the changes of a time. The records lie in the order of their times, so a few pages are enough for an index.
create index route_change_recorded on route_change using brin (recorded_at) with (pages_per_range = 32, autosummarize = on);
