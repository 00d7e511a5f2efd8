-- older code: may run
-- What is believed of each tracked fare, its history, when it is checked next, and the feeds of changes.

create table fare_state (
  tracked_fare_id    bigint      primary key references tracked_fare,
  outbound           text        not null default 'unknown' check (outbound in ('available', 'unavailable', 'unknown')),
  return             text        check (return in ('available', 'unavailable', 'unknown')),
  pair               text        not null default 'unknown' check (pair in ('bookable', 'not_bookable', 'unknown')),
  price              numeric,
  currency           text,
  -- The state as decide() takes and gives it: counters of confirmation, prices of the legs, identities.
  state              jsonb       not null,
  believed_since     timestamptz not null default clock_timestamp(),
  -- When the request of the last counted answer began: an older one is dropped.
  asked_at           timestamptz,
  last_check_at      timestamptz,
  last_good_check_at timestamptz,
  last_reason        text,
  ever_available_at  timestamptz,
  expired_at         timestamptz,
  checks             bigint      not null default 0
) with (fillfactor = 70);

-- Whose turn it is: a stride queue on virtual time. Expired and ended fares have no row.
create table fare_schedule (
  tracked_fare_id bigint           primary key references tracked_fare,
  vdue            double precision not null,
  ticket          double precision not null default 1 check (ticket > 0),
  not_before      timestamptz      not null default clock_timestamp(),
  -- An early turn in a lane: a first look, the confirmation of a loss, one retry of a failure.
  lane            text             check (lane in ('confirmation', 'new_watch', 'retry')),
  lane_due_at     timestamptz,
  claim_id        uuid,
  slot_at         timestamptz,
  check ((lane is null) = (lane_due_at is null))
) with (fillfactor = 70);
-- Serves the claim: the smallest virtual due time first.
create index fare_schedule_turn on fare_schedule (vdue);
-- Serves the lanes: what is due early.
create index fare_schedule_lane on fare_schedule (lane, lane_due_at) where lane is not null;
-- Serves a batch: what a claim holds.
create index fare_schedule_claim on fare_schedule (claim_id) where claim_id is not null;

-- The clock of the stride queue: the largest virtual due time that was taken.
create table recheck_clock (
  only_row    boolean          primary key default true check (only_row),
  v           double precision not null default 0,
  -- The sum of all tickets, as last counted: what one turn of everybody costs in virtual time.
  tickets     double precision not null default 0,
  counted_at  timestamptz      not null default '-infinity',
  -- How long one turn of everybody takes at the budget, as last counted: the expected interval of a fare.
  turn        interval         not null default '0'
);
insert into recheck_clock default values;

create table fare_belief_version (
  tracked_fare_id bigint      not null references tracked_fare,
  outbound        text        not null,
  return          text,
  pair            text        not null,
  price           numeric,
  currency        text,
  valid_from      timestamptz not null,
  valid_to        timestamptz,
  check (valid_from < valid_to)
);
-- At most one open version a fare.
create unique index fare_belief_version_open on fare_belief_version (tracked_fare_id) where valid_to is null;
-- Serves one fare's timeline.
create unique index fare_belief_version_timeline on fare_belief_version (tracked_fare_id, valid_from);

-- The answers behind changes, each once.
create table evidence (
  hash       text        primary key,
  -- gzip of the scrubbed text.
  body       bytea       not null,
  created_at timestamptz not null default clock_timestamp()
);

create table availability_change (
  seq                bigint      primary key,
  id                 uuid        not null default uuidv7() unique,
  kind               text        not null check (kind in ('became_available', 'became_unavailable', 'legs_changed', 'price_changed', 'itinerary_changed', 'identity_changed', 'expired')),
  tracked_fare_id    bigint      not null references tracked_fare,
  before             jsonb       not null,
  after              jsonb       not null,
  last_good_check_at timestamptz,
  detected_at        timestamptz not null,
  recorded_at        timestamptz not null default clock_timestamp(),
  schema_version     integer     not null default 1,
  evidence_hash      text        references evidence,
  -- Claim, request fingerprint, status, latency, parser version.
  provenance         jsonb       not null
);
-- Serves one fare's changes.
create index availability_change_fare on availability_change (tracked_fare_id, seq);
insert into feed_head (feed) values ('availability');

-- A reseller's own feed: dense per reseller.
create table watch_change (
  reseller_id bigint      not null references reseller,
  seq         bigint      not null,
  watch_id    uuid        not null,
  reference   text        not null,
  change_id   uuid        not null references availability_change (id),
  recorded_at timestamptz not null default clock_timestamp(),
  primary key (reseller_id, seq)
);

-- Mass losses and upstream trouble: while one is open, losses are held.
create table incident (
  id        bigint      generated always as identity primary key,
  kind      text        not null check (kind in ('mass_loss', 'upstream_trouble')),
  opened_at timestamptz not null default clock_timestamp(),
  closed_at timestamptz,
  detail    jsonb       not null default '{}'
);
-- At most one open incident a kind.
create unique index incident_open on incident (kind) where closed_at is null;

-- Checks by the minute: what upstream trouble is judged by.
create table check_minute (
  minute  timestamptz primary key,
  checks  integer     not null,
  unknown integer     not null
);

-- Serves the count of losses in the last five minutes.
create index availability_change_loss on availability_change (recorded_at) where kind = 'became_unavailable';
-- Serves the count of fares that are believed bookable.
create index fare_state_bookable on fare_state (tracked_fare_id) where pair = 'bookable' and expired_at is null;
