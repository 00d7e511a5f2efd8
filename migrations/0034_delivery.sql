-- older code: may run
-- Delivery: the endpoints of resellers, one row for each record that an endpoint receives, and one for each attempt.

create table webhook_endpoint (
  id               uuid        primary key default uuidv7(),
  reseller_id      bigint      not null references reseller on delete cascade,
  format           text        not null check (format in ('webhook', 'slack', 'email')),
  description      text        not null default '',
  -- The URL or the e-mail address, encrypted. `target_shown` is all that may be printed: host and last four characters.
  target           bytea       not null,
  target_shown     text        not null,
  -- The signing secret, encrypted; null for formats that are not signed. The previous one signs too until its end.
  secret           bytea,
  previous_secret  bytea,
  previous_secret_until timestamptz,
  -- Which records pass; null: all. A record passes if every filter that is set passes, and one of the rules if there are any.
  kinds            text[],
  reasons          text[],
  lists            text[]      collate "C",
  rules            jsonb,
  -- How a digest collects records; null: each record is sent at once.
  digest           jsonb,
  created_at       timestamptz not null default clock_timestamp(),
  updated_at       timestamptz not null default clock_timestamp(),
  -- Null while records are delivered.
  disabled_at      timestamptz,
  disabled_reason  text        check (disabled_reason in ('paused', 'gone', 'failing')),
  -- The last number of the reseller's feed for which deliveries were written, and the last one that passed the filters.
  cursor_seq       bigint      not null,
  last_passed_seq  bigint      not null default 0,
  -- The circuit breaker: failures in a row, since when, and until when no attempt is made.
  failures         integer     not null default 0,
  failing_since    timestamptz,
  open_until       timestamptz,
  last_success_at  timestamptz,
  check ((secret is not null) = (format = 'webhook')),
  check ((disabled_at is null) = (disabled_reason is null)),
  check ((failures = 0) = (failing_since is null))
);
-- Serves the list of a reseller's endpoints and the fan-out of its feed.
create index webhook_endpoint_reseller on webhook_endpoint (reseller_id);

create table delivery (
  id               uuid        primary key default uuidv7(),
  endpoint_id      uuid        not null references webhook_endpoint on delete cascade,
  -- The number of the record in the reseller's feed; null for an event that is not a record (`type`, `payload`).
  seq              bigint,
  -- The number of the record before it for this endpoint; 0 for the first. Null where `seq` is.
  previous_seq     bigint,
  type             text,
  payload          jsonb,
  -- When the record was written: its age decides how long it is tried.
  recorded_at      timestamptz not null,
  state            text        not null default 'pending' check (state in ('pending', 'delivered', 'dead')),
  attempts         integer     not null default 0,
  first_attempt_at timestamptz,
  -- When the next attempt is due; null once it has ended. While `claim_id` is set, the end of the lease.
  due_at           timestamptz default clock_timestamp(),
  -- The claim of the process that makes an attempt. If that process dies, the delivery is due at the end of the lease.
  claim_id         uuid,
  ended_at         timestamptz,
  dead_reason      text        check (dead_reason in ('too_old', 'blocked', 'too_large')),
  unique (endpoint_id, seq),
  check ((seq is null) = (payload is not null) and (seq is null) = (previous_seq is null) and (seq is null) = (type is not null)),
  check ((state = 'pending') = (due_at is not null) and (claim_id is null or state = 'pending') and (state = 'pending') = (ended_at is null)),
  check ((state = 'dead') = (dead_reason is not null))
);
-- Serves the claim of due deliveries, endpoint by endpoint.
create index delivery_due on delivery (endpoint_id, due_at) where state = 'pending';
-- Serves the count of requests in progress.
create index delivery_claimed on delivery (endpoint_id, due_at) where claim_id is not null;
-- Serves the end of deliveries that were tried for too long.
create index delivery_tried on delivery (first_attempt_at) where state = 'pending' and first_attempt_at is not null;
-- Serves the list of dead deliveries.
create index delivery_dead on delivery (endpoint_id, id) where state = 'dead';
-- Serves the retention.
create index delivery_ended on delivery (ended_at) where ended_at is not null;

create table delivery_attempt (
  id            bigint      generated always as identity primary key,
  delivery_id   uuid        not null references delivery on delete cascade,
  started_at    timestamptz not null,
  duration_ms   integer     not null,
  -- The status of the answer; null if there was none.
  status        smallint,
  -- `ok`, or why it failed: a stable code.
  outcome       text        not null,
  -- The first kilobyte of the answer, scrubbed.
  answer        text        not null default ''
);
-- Serves the attempts of one delivery.
create index delivery_attempt_delivery on delivery_attempt (delivery_id, started_at);
-- Serves the retention.
create index delivery_attempt_started on delivery_attempt (started_at);
