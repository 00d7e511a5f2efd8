-- older code: may run
-- Keys of the API. Older code beside it serves without asking for keys.

create table api_key (
  id           bigint      generated always as identity primary key,
  -- Null: an operator's.
  reseller_id  bigint      references reseller,
  scopes       text[]      not null,
  -- The SHA-256 of the key, which itself is kept nowhere. Unsalted and unstretched: a key is 178 random bits, which
  -- no dictionary holds, and every request looks one up. Its index serves that.
  hash         bytea       not null unique check (length(hash) = 32),
  -- The first characters of the key, by which its owner knows it in a list.
  prefix       text        not null,
  created_at   timestamptz not null default clock_timestamp(),
  expires_at   timestamptz,
  revoked_at   timestamptz,
  -- To the minute.
  last_used_at timestamptz,
  check (cardinality(scopes) > 0),
  check (scopes <@ case when reseller_id is null then array['read', 'operate'] else array['read', 'watch'] end)
);
-- Serves the deletion of a reseller, and lists of its keys.
create index api_key_reseller on api_key (reseller_id);
