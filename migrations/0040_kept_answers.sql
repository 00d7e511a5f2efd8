-- older code: may run
-- The answers of requests with an `Idempotency-Key`, so that a repeated request makes nothing a second time.

create table kept_answer (
  key_id     bigint      not null references api_key on delete cascade,
  name_hash  bytea       not null,
  request    bytea       not null,
  answer     bytea       not null,
  created_at timestamptz not null default clock_timestamp(),
  primary key (key_id, name_hash)
);
comment on table kept_answer is 'The answers of requests with an Idempotency-Key, for a day.';
comment on column kept_answer.key_id is 'The key that made the request.';
comment on column kept_answer.name_hash is 'The SHA-256 of the Idempotency-Key.';
comment on column kept_answer.request is 'A keyed digest of the request: its operation, address and body.';
comment on column kept_answer.answer is 'The status, the Location and the body, compressed and encrypted under the text of the key, which is stored nowhere.';
comment on column kept_answer.created_at is 'When the request was answered.';

-- Serves the deletion of what is older than a day.
create index kept_answer_age on kept_answer (created_at);
