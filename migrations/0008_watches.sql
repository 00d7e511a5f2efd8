-- older code: may run
-- Resellers, their watch lists and watches, and the tracked fares that watches share.

create table reseller (
  id          bigint      generated always as identity primary key,
  name        text        collate "C" not null unique,
  created_at  timestamptz not null default clock_timestamp(),
  disabled_at timestamptz,
  -- The head of the reseller's own feed: its row lock makes the feed's numbers dense and lets them appear in order.
  last_seq    bigint      not null default 0
);

-- One question to the upstream, whoever asks it. Without an active watch it has ended: no checks, history stays.
-- Texts that are compared and sorted, never read out in a language's order, are of collation "C": the same order
-- on every server, and the cheapest to compare.
create table tracked_fare (
  id                     bigint      generated always as identity primary key,
  flight_id              text        collate "C" not null,
  return_flight_id       text        collate "C",
  residents_adults       smallint    not null,
  residents_children     smallint    not null,
  residents_infants      smallint    not null,
  non_residents_adults   smallint    not null,
  non_residents_children smallint    not null,
  non_residents_infants  smallint    not null,
  created_at             timestamptz not null default clock_timestamp(),
  -- When the first of its active watches began, this time; null while it has none.
  active_since           timestamptz,
  -- When its last active watch ended; null while it has one.
  ended_at               timestamptz,
  -- The latest departure that an active watch gave; null where one of them gave none.
  departs_on             date,
  -- The smallest of its active watches' own; null where none has one.
  min_interval_seconds   integer,
  -- Its active watches: what a later scheduler weighs it by.
  watchers               integer     not null default 0,
  unique nulls not distinct (flight_id, return_flight_id, residents_adults, residents_children, residents_infants,
                             non_residents_adults, non_residents_children, non_residents_infants)
);

create table watch_list (
  id          uuid        primary key default uuidv7(),
  reseller_id bigint      not null references reseller,
  name        text        collate "C" not null,
  created_at  timestamptz not null default clock_timestamp(),
  unique (reseller_id, name),
  -- For the watches' foreign key.
  unique (id, reseller_id)
);

create table watch (
  id                   uuid        primary key default uuidv7(),
  reseller_id          bigint      not null,
  watch_list_id        uuid        not null,
  reference            text        collate "C" not null,
  tracked_fare_id      bigint      not null references tracked_fare,
  -- Thresholds of price changes that the reseller is told; null: any change.
  price_threshold_amount  numeric  check (price_threshold_amount >= 0),
  price_threshold_percent numeric  check (price_threshold_percent >= 0),
  departs_on           date,
  min_interval_seconds integer     check (min_interval_seconds > 0),
  paused_at            timestamptz,
  created_at           timestamptz not null default clock_timestamp(),
  -- The watch sees the changes of its fare from here on: its creation, its last change of question, its last resumption.
  began_at             timestamptz not null default clock_timestamp(),
  -- The last price it was told, for its thresholds; null: none yet.
  told_amount          numeric,
  told_currency        text,
  -- Also serves the pages of a reseller's watches, list by list.
  unique (watch_list_id, reference),
  -- A watch cannot lie in the list of another reseller.
  foreign key (watch_list_id, reseller_id) references watch_list (id, reseller_id)
);
-- Serves the fan-out of a change to the watches of its fare.
create index watch_fare on watch (tracked_fare_id);
-- Serves counts and the end of all of a reseller's watches.
create index watch_reseller on watch (reseller_id);
