-- older code: must stop
-- Webhook endpoints of resellers, their deliveries and attempts.

create table webhook_endpoint (
  id              uuid        default uuidv7() primary key,
  reseller_id     bigint      not null references reseller on delete cascade,
  format          text        not null check (format in ('webhook', 'slack', 'email')),
  description     text        not null default '',
  target          bytea       not null,
  target_shown    text        not null,
  secret          bytea,
  kinds           text[],
  reasons         text[],
  lists           text[]      collate "C",
  rules           jsonb,
  digest          jsonb,
  created_at      timestamptz not null default clock_timestamp(),
  updated_at      timestamptz not null default clock_timestamp(),
  disabled_at     timestamptz,
  disabled_reason text        check (disabled_reason in ('paused', 'gone', 'failing')),
  cursor_seq      bigint      not null,
  last_passed_seq bigint      not null default 0,
  failures        integer     not null default 0,
  failing_since   timestamptz,
  open_until      timestamptz,
  last_success_at timestamptz,
  held_until      timestamptz,
  check ((secret is not null) = (format = 'webhook')),
  check ((disabled_at is null) = (disabled_reason is null)),
  check ((failures = 0) = (failing_since is null))
);
comment on table webhook_endpoint is 'Where the records of a reseller are sent: target, filters, rules, health, and how far its feed has been read.';
comment on column webhook_endpoint.target is 'The URL or the e-mail address, encrypted. target_shown is all that may be printed: host and last four characters.';
comment on column webhook_endpoint.secret is 'The signing secret, encrypted; null for formats that are not signed. The previous one signs too until its end.';
comment on column webhook_endpoint.kinds is 'Which records pass; null: all. A record passes if every filter that is set passes, and one of the rules if there are any.';
comment on column webhook_endpoint.digest is 'How a digest collects records; null: each record is sent at once.';
comment on column webhook_endpoint.disabled_at is 'Null while records are delivered.';
comment on column webhook_endpoint.cursor_seq is 'The last number of the feed of the reseller for which deliveries were written.';
comment on column webhook_endpoint.failures is 'The circuit breaker: failures in a row.';
comment on column webhook_endpoint.held_until is 'Until then no attempt is made, because the receiver answered Retry-After. Null or past: it is not held.';
-- Serves the list of a reseller's endpoints and the fan-out of its feed.
create index webhook_endpoint_reseller on webhook_endpoint (reseller_id);

create table previous_secret (
  id          bigint      generated always as identity primary key,
  endpoint_id uuid        not null references webhook_endpoint on delete cascade,
  secret      bytea       not null,
  signs_until timestamptz not null
);
comment on table previous_secret is 'Signing secrets that were replaced and still sign for a while.';
comment on column previous_secret.secret is 'Encrypted, as the secret of its endpoint was.';
-- Serves the claim of deliveries.
create index previous_secret_endpoint on previous_secret (endpoint_id, signs_until);

create table delivery (
  id               uuid        default uuidv7() primary key,
  endpoint_id      uuid        not null references webhook_endpoint on delete cascade,
  seq              bigint,
  previous_seq     bigint,
  type             text,
  payload          jsonb,
  recorded_at      timestamptz not null,
  state            text        not null default 'pending' check (state in ('pending', 'delivered', 'dead')),
  attempts         integer     not null default 0,
  first_attempt_at timestamptz,
  due_at           timestamptz default clock_timestamp(),
  claim_id         uuid,
  ended_at         timestamptz,
  dead_reason      text        check (dead_reason in ('too_old', 'blocked', 'too_large')),
  replayed         boolean     not null default false,
  unique (endpoint_id, seq),
 
                       check ((seq is null) = (payload is not null) and (seq is null) = (previous_seq is null) and (seq is null) = (type is not null)),
  check ((state = 'pending') = (due_at is not null) and (claim_id is null or state = 'pending')
         and (state = 'pending') = (ended_at is null)),
  check ((state = 'dead') = (dead_reason is not null))
);
comment on table delivery is 'One record or one event for one endpoint. It is pending, delivered or dead, and keeps its id over all attempts.';
comment on column delivery.seq is 'The number of the record in the feed of the reseller; null for an event that is no record.';
comment on column delivery.previous_seq is 'The number of the record before it for this endpoint; 0 for the first. Null where seq is.';
comment on column delivery.recorded_at is 'When the record was written: its age decides how long it is tried.';
comment on column delivery.due_at is 'When the next attempt is due; null once it has ended. While claim_id is set, the end of the lease.';
comment on column delivery.claim_id is 'The claim of the process that makes an attempt. If that process dies, the delivery is due at the end of the lease.';
comment on column delivery.replayed is 'Whether it was sent again by request. Then it does not count as late.';
-- Serves the count of requests in progress.
create index delivery_claimed on delivery (endpoint_id, due_at) where claim_id is not null;
-- Serves the end of deliveries that were tried for too long.
create index delivery_tried on delivery (first_attempt_at) where state = 'pending' and first_attempt_at is not null;
-- Serves the list of dead deliveries.
create index delivery_dead on delivery (endpoint_id, id) where state = 'dead';
-- Serves the retention.
create index delivery_ended on delivery (ended_at) where ended_at is not null;
-- Serves the claim of due deliveries, endpoint by endpoint, new ones first.
create index delivery_due on delivery (endpoint_id, replayed, due_at) where state = 'pending';

create table delivery_attempt (
  id          bigint      generated always as identity primary key,
  delivery_id uuid        not null references delivery on delete cascade,
  started_at  timestamptz not null,
  duration_ms integer     not null,
  status      smallint,
  outcome     text        not null,
  answer      text        not null default ''
);
comment on table delivery_attempt is 'The requests made for deliveries, with their results, for some days.';
comment on column delivery_attempt.status is 'The status of the answer; null if there was none.';
comment on column delivery_attempt.outcome is 'ok, or why it failed: a stable code.';
comment on column delivery_attempt.answer is 'The first kilobyte of the answer, scrubbed.';
-- Serves the attempts of one delivery.
create index delivery_attempt_delivery on delivery_attempt (delivery_id, started_at);
-- Serves the retention.
create index delivery_attempt_started on delivery_attempt (started_at);

create table email_pace (
  reseller_id  bigint      not null references reseller on delete cascade,
  address_hash bytea       not null,
  next_at      timestamptz not null,
  primary key (reseller_id, address_hash)
);
comment on table email_pace is 'When an address may get its next message: a limit over all processes.';
comment on column email_pace.address_hash is 'SHA-256 of the address in lower case.';
comment on column email_pace.next_at is 'When the next message would be due if all messages were spread evenly. Further ahead than the burst allows, none is sent.';
