-- older code: may run
-- Routes, their availability and their places, each as intervals of valid time. What holds now is the open interval.

create table route_version (
  departure_id   text        not null,
  destination_id text        not null,
  valid_from     timestamptz not null,
  valid_to       timestamptz,
  added_by       bigint      not null references sync_run,
  removed_by     bigint      references sync_run,
  check (valid_from < valid_to)
);
-- At most one open version a route; serves "what flies now", and the diff of every snapshot.
create unique index route_version_open on route_version (departure_id, destination_id) where valid_to is null;
-- Serves one route's timeline, and routes_as_of for one departure place; no two versions begin together.
create unique index route_version_timeline on route_version (departure_id, destination_id, valid_from);
-- Serves the guard's "removed in the last 24 hours".
create index route_version_ended on route_version (valid_to) where valid_to is not null;

create table route_availability_version (
  departure_id   text        not null,
  destination_id text        not null,
  available      boolean     not null,
  valid_from     timestamptz not null,
  valid_to       timestamptz,
  check (valid_from < valid_to)
);
-- At most one open availability a route; serves routes_current and the diff of every snapshot.
create unique index route_availability_version_open
  on route_availability_version (departure_id, destination_id) where valid_to is null;
-- Serves one route's timeline and routes_as_of.
create unique index route_availability_version_timeline
  on route_availability_version (departure_id, destination_id, valid_from);

create table place_version (
  place_id   text        not null,
  iata       text        not null,
  city       text        not null,
  country    text        not null,
  valid_from timestamptz not null,
  valid_to   timestamptz,
  check (valid_from < valid_to)
);
-- At most one open version a place; serves every join from an id to its attributes.
create unique index place_version_open on place_version (place_id) where valid_to is null;
-- Serves one place's timeline and routes_as_of.
create unique index place_version_timeline on place_version (place_id, valid_from);

-- What accepted snapshots lack and is not confirmed yet: of `routes` a live route, of `with-availability` an available one.
create table pending_absence (
  list            text        not null check (list in ('routes', 'with-availability')),
  departure_id    text        not null,
  destination_id  text        not null,
  absences        integer     not null check (absences > 0),
  last_seen_at    timestamptz not null,
  first_missed_at timestamptz not null,
  primary key (list, departure_id, destination_id)
);
