-- older code: must stop
-- Tracked fares: what is asked, what is believed, what was recorded, and what holds records back.

create table tracked_fare (
  id                     bigint             generated always as identity primary key,
  flight_id              text               collate "C" not null,
  return_flight_id       text               collate "C",
  residents_adults       smallint           not null,
  residents_children     smallint           not null,
  residents_infants      smallint           not null,
  non_residents_adults   smallint           not null,
  non_residents_children smallint           not null,
  non_residents_infants  smallint           not null,
  created_at             timestamptz        not null default clock_timestamp(),
  ended_at               timestamptz,
  departs_on             date,
  min_interval_seconds   integer,
  watchers               integer            not null default 0,
  resellers              bigint[]           not null default '{}',
  weights                double precision[] not null default '{}',
  max_delay_seconds      integer,
  max_delays             integer[]          not null default '{}',
  min_intervals          integer[]          not null default '{}',
  unique nulls not distinct (flight_id, return_flight_id, residents_adults, residents_children, residents_infants,
                             non_residents_adults, non_residents_children, non_residents_infants)
);
comment on table tracked_fare is 'The questions that watches ask, each once, with what their active watches demand.';
comment on column tracked_fare.ended_at is 'When its last active watch ended; null while it has one.';
comment on column tracked_fare.departs_on is 'The latest departure that an active watch gave; null where one of them gave none.';
comment on column tracked_fare.min_interval_seconds is 'The smallest of its active watches; null where one has none.';
comment on column tracked_fare.watchers is 'How many active watches it has.';
comment on column tracked_fare.resellers is 'The resellers of its active watches, ascending.';
comment on column tracked_fare.weights is 'For each of its resellers the sum of the priorities of its active watches.';
comment on column tracked_fare.max_delay_seconds is 'The smallest max_delay_seconds of its active watches.';
comment on column tracked_fare.max_delays is 'For each of its resellers the smallest max_delay_seconds of its active watches, null where it asks for none. Empty if none asks.';
comment on column tracked_fare.min_intervals is 'For each of its resellers the smallest min_interval_seconds of its active watches, null where one of them sets none.';
-- Serves the end of watches from before such questions were refused: nearly empty.
create index tracked_fare_same_flight on tracked_fare (id) where return_flight_id = flight_id;
-- Serves the deletion of fares that nobody watches.
create index tracked_fare_ended on tracked_fare (ended_at) where ended_at is not null;

create table fare_flights (
  id                     bigint    generated always as identity primary key,
  tracked_fare_id        bigint    not null references tracked_fare,
  outbound_from          text,
  outbound_to            text,
  outbound_airline       text,
  outbound_numbers       integer[],
  outbound_departs_local timestamp,
  return_from            text,
  return_to              text,
  return_airline         text,
  return_numbers         integer[],
  return_departs_local   timestamp
);
comment on table fare_flights is 'The flights of a tracked fare, as its state shows them. A change of itinerary or identity adds a row.';
-- Serves the end of a tracked fare.
create index fare_flights_fare on fare_flights (tracked_fare_id);

create table fare_state (
  tracked_fare_id    bigint      primary key references tracked_fare,
  outbound           text        not null default 'unknown' check (outbound in ('available', 'unavailable', 'unknown')),
  "return"           text        check ("return" in ('available', 'unavailable', 'unknown')),
  pair               text        not null default 'unknown' check (pair in ('bookable', 'not_bookable', 'unknown')),
  price              numeric,
  currency           text,
  state              jsonb       not null,
  believed_since     timestamptz not null default clock_timestamp(),
  asked_at           timestamptz,
  last_check_at      timestamptz,
  last_good_check_at timestamptz,
  last_reason        text,
  ever_available_at  timestamptz,
  expired_at         timestamptz,
  checks             bigint      not null default 0,
  departs_at         timestamptz,
  held               text[]      not null default '{}',
  past_since         timestamptz,
  ask_again_at       timestamptz,
  price_checked_at   timestamptz,
  price_reason       text        check (price_reason in ('unreadable', 'unconfirmed', 'mixed_currencies', 'held')),
  held_until         timestamptz,
  flights_id         bigint      references fare_flights,
  last_check_why     text       
                        check (last_check_why in ('scheduled', 'confirmation', 'new_watch', 'retry', 'route_moved',
                          'on_demand', 'ended')),
  contradicted_since timestamptz,
  held_since         timestamptz,
  hidden             text        check (hidden in ('held', 'identity_mismatch', 'reverted'))
) with (fillfactor = 70);
comment on table fare_state is 'What is believed of a fare now, and what its last answers showed. Times are those of requests.';
comment on column fare_state.state is 'The belief, the candidate, what waits and what was replaced: the input of the next decision, as src/fares/decide writes it.';
comment on column fare_state.asked_at is 'When the request of the last counted answer began: an older one is dropped.';
comment on column fare_state.departs_at is 'When the first of its known flights departs, at UTC−12 where the time zone is unknown; null where no answer has shown a flight. At this instant the fare ends.';
comment on column fare_state.held is 'The kind of change that the last contradiction would have made, had no mass held it.';
comment on column fare_state.price_checked_at is 'When the last check began that showed the price of each leg; null unless the pair is bookable.';
comment on column fare_state.price_reason is 'Why the last answers did not show the price of the bookable pair; null where they did.';
comment on column fare_state.held_until is 'Until when an incident holds the end of the fare, whatever its departure; null: none did.';
comment on column fare_state.flights_id is 'The flights of the state; null until an answer shows one.';
comment on column fare_state.last_check_why is 'Why it was checked last; null if that was not recorded.';
comment on column fare_state.contradicted_since is 'When the first answer began that contradicts the belief, without one since that agreed; null where none does.';
comment on column fare_state.held_since is 'Since when a mass holds the change that the answers show; null where none does.';
comment on column fare_state.hidden is 'Why the belief is not shown, its age apart; null where it is.';
-- Serves the count of fares that are believed bookable.
create index fare_state_bookable on fare_state (tracked_fare_id) where pair = 'bookable' and expired_at is null;
-- Serves the end of fares at their departure.
create index fare_state_departs on fare_state (departs_at) where expired_at is null;
-- Serves the daily question about ended fares.
create index fare_state_ask_again on fare_state (ask_again_at) where ask_again_at is not null;
-- Serves what waits: few fares do.
create index fare_state_held on fare_state (held_since) where held_since is not null;

create table fare_belief_version (
  tracked_fare_id  bigint      not null references tracked_fare,
  outbound         text        not null,
  "return"         text,
  pair             text        not null,
  price            numeric,
  currency         text,
  valid_from       timestamptz not null,
  valid_to         timestamptz,
  price_checked_at timestamptz,
  price_reason     text,
  flights_id       bigint,
  check (valid_from < valid_to)
);
comment on table fare_belief_version is 'What was believed of a fare, as intervals that do not overlap. A check that finds nothing new adds no row.';
comment on column fare_belief_version.price_checked_at is 'The value of fare_state when the interval ended; null while it holds.';
comment on column fare_belief_version.price_reason is 'The value of fare_state when the interval ended; null while it holds.';
comment on column fare_belief_version.flights_id is 'The value of fare_state when the interval ended; null while it holds.';
-- At most one open version a fare.
create unique index fare_belief_version_open on fare_belief_version (tracked_fare_id) where valid_to is null;
-- Serves one fare's timeline, and fare_survival with its prices without the table.
create unique index fare_belief_version_timeline on fare_belief_version (tracked_fare_id, valid_from)
  include (valid_to, pair, price, currency);

create table evidence (
  hash       text        primary key,
  body       bytea       not null,
  created_at timestamptz not null default clock_timestamp()
);
comment on table evidence is 'The answers of the upstream that records cite, each once by its hash.';
comment on column evidence.body is 'gzip of the scrubbed text.';
-- Serves the deletion of old answers.
create index evidence_created on evidence (created_at);

create table availability_change (
  seq                bigint      primary key,
  id                 uuid        not null default uuidv7() unique,
  kind               text        not null
                        check (kind in ('became_available', 'became_unavailable', 'legs_changed', 'price_changed',
                          'itinerary_changed', 'identity_changed', 'expired')),
  tracked_fare_id    bigint      not null references tracked_fare,
  before             jsonb       not null,
  after              jsonb       not null,
  last_good_check_at timestamptz,
  detected_at        timestamptz not null,
  recorded_at        timestamptz not null default clock_timestamp(),
  schema_version     integer     not null default 3,
  evidence_hash      text,
  provenance         jsonb       not null,
  reason             text       
                        check (reason in ('sold_out', 'sales_closed', 'unknown', 'departed', 'departs_on_passed',
                          'never_available')),
  held_since         timestamptz
);
comment on table availability_change is 'The feed of all fares: every confirmed change, with the answer behind it. Never pruned, only archived.';
comment on column availability_change.before is 'What was believed: one whole reading.';
comment on column availability_change.after is 'What is believed since: what the answer says, field by field.';
comment on column availability_change.provenance is 'Claim, request fingerprint, status, latency, parser version.';
-- Serves one fare's changes.
create index availability_change_fare on availability_change (tracked_fare_id, seq);
-- Serves the counts of changes in the last five minutes.
create index availability_change_recent on availability_change (kind, recorded_at);
-- Serves the reasons of fare_survival, and losses and ends without their large JSON.
create index availability_change_ends on availability_change (tracked_fare_id, kind, seq)
  include (detected_at, recorded_at, last_good_check_at, reason)
  where kind in ('became_unavailable', 'expired');

create table incident (
  id        bigint      generated always as identity primary key,
  kind      text        not null
                        check (kind in ('mass_loss', 'mass_gain', 'mass_identity_change', 'mass_itinerary_change',
                          'mass_price_change', 'mass_expiry', 'upstream_trouble')),
  opened_at timestamptz not null default clock_timestamp(),
  closed_at timestamptz,
  detail    jsonb       not null default '{}'
);
comment on table incident is 'Times in which changes of one kind waited, or checks slowed down. At most one of a kind is open.';
comment on column incident.detail is 'closedBy: operator, where one closed it: changes that were held before closed_at are recorded with the next answer that shows them.';
-- At most one open incident a kind.
create unique index incident_open on incident (kind) where closed_at is null;

create unlogged table asked_flight (
  seq          bigint      generated always as identity primary key,
  flight_id    text        not null,
  is_available boolean     not null,
  shows        text,
  fare_id      bigint      not null,
  asked_at     timestamptz not null default clock_timestamp()
);
comment on table asked_flight is 'Legs that checks have shown in the last minutes, by flight. Not logged: the guard of masses needs the last hundred alone.';
comment on column asked_flight.is_available is 'Whether the flight was believed available: then it can be lost or change, else it can be gained.';
comment on column asked_flight.shows is 'The kind of change that the answer would make; null where it shows what is believed.';
-- Serves the last hundred flights.
create index asked_flight_last on asked_flight (is_available, seq);

create table check_minute (
  minute  timestamptz primary key,
  checks  integer     not null,
  unknown integer     not null
);
comment on table check_minute is 'Checks by the minute, and how many of them were unknown: they decide whether there is upstream trouble.';

create unlogged table verify_result (
  question text        primary key,
  asked_at timestamptz not null,
  body     text        not null
);
comment on table verify_result is 'Answers to questions on demand, kept for up to ten minutes.';
comment on column verify_result.question is 'SHA-256 of the question, in hex.';
comment on column verify_result.asked_at is 'When the request to the upstream began, by the clock of the database.';
comment on column verify_result.body is 'The text of the answer, as the API sent it.';
-- Serves the deletion of answers that are older than ten minutes.
create index verify_result_asked on verify_result (asked_at);
