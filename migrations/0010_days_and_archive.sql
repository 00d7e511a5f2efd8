-- older code: must stop
-- Tables by UTC day, so that questions over years read rows by the hundred instead of the history.
-- The worker writes a day once it is over, and again when a list that is applied later belongs to it. Runs of the archive.

create table daily_rollup (
  day            date        primary key,
  computed_at    timestamptz not null,
  database_bytes bigint
);
comment on table daily_rollup is 'The days that the daily tables contain.';
comment on column daily_rollup.database_bytes is 'The size of the database when the day was computed: the growth of the database follows from it.';

create table daily_network (
  day               date    not null,
  departure_country text    not null,
  live              integer not null,
  available         integer not null,
  known             integer not null,
  added             integer not null,
  removed           integer not null,
  primary key (day, departure_country)
);
comment on table daily_network is 'The network by day. Behind the public view of the same name.';

create table daily_country_pairs (
  day                 date    not null,
  departure_country   text    not null,
  destination_country text    not null,
  live                integer not null,
  available           integer not null,
  primary key (day, departure_country, destination_country)
);
comment on table daily_country_pairs is 'Routes between countries by day. Behind the public view of the same name.';

create table daily_place_degree (
  day          date    not null,
  place_id     text    not null,
  destinations integer not null,
  origins      integer not null,
  primary key (day, place_id)
);
comment on table daily_place_degree is 'Routes of each place by day. Behind the public view of the same name.';
-- Serves one place over time.
create index daily_place_degree_place on daily_place_degree (place_id, day);

create table daily_fares (
  day                    date    not null,
  departure_iata         text,
  destination_iata       text,
  departure_id           text,
  destination_id         text,
  days_to_departure      integer not null,
  has_return             boolean not null,
  residents_adults       integer not null,
  residents_children     integer not null,
  residents_infants      integer not null,
  non_residents_adults   integer not null,
  non_residents_children integer not null,
  non_residents_infants  integer not null,
  fares                  integer not null,
  bookable               integer not null,
  bookable_share         numeric,
  currency               text,
  p10                    numeric,
  median                 numeric,
  p90                    numeric
);
comment on table daily_fares is 'Fares by day. Behind the public view of the same name.';
-- Serves the deletion of a day that is computed again, and questions over a range of days.
create index daily_fares_day on daily_fares (day);
-- Serves one route over time.
create index daily_fares_route on daily_fares (departure_iata, destination_iata, day);

create table archive (
  id         uuid        default uuidv7() primary key,
  before     timestamptz not null,
  started_at timestamptz not null default clock_timestamp(),
  applied_at timestamptz
);
comment on table archive is 'Runs of the archive, which resume where they stopped.';
comment on column archive.before is 'Intervals that ended by then and records that were written before it are archived, as far as nothing needs them.';
comment on column archive.applied_at is 'When its files were verified and the floors were moved. Its rows are deleted after that.';
