-- older code: must stop
-- Resellers and the keys of the API.

create table reseller (
  id          bigint           generated always as identity primary key,
  name        text             collate "C" not null unique,
  created_at  timestamptz      not null default clock_timestamp(),
  disabled_at timestamptz,
  last_seq    bigint           not null default 0,
  share       double precision not null default 1 check (share between 0.01 and 1000),
  first_seq   bigint           not null default 1
);
comment on table reseller is 'Resellers, and the head of the feed of each.';
comment on column reseller.last_seq is 'The head of the feed of the reseller: its row lock makes the numbers dense and lets them appear in order.';
comment on column reseller.share is 'Its share of the checks, against those of the other resellers.';
comment on column reseller.first_seq is 'The first number that the feed of its watches still has; earlier records are archived.';

create table api_key (
  id           bigint      generated always as identity primary key,
  reseller_id  bigint      references reseller,
  scopes       text[]      not null check (cardinality(scopes) > 0),
  hash         bytea       not null unique check (length(hash) = 32),
  prefix       text        not null,
  created_at   timestamptz not null default clock_timestamp(),
  expires_at   timestamptz,
  revoked_at   timestamptz,
  last_used_at timestamptz,
  check (scopes <@ case when reseller_id is null then array['read', 'operate'] else array['read', 'watch'] end)
);
comment on table api_key is 'Keys of resellers and operators for the API.';
comment on column api_key.reseller_id is 'Null: an operator''s.';
comment on column api_key.hash is 'The SHA-256 of the key, which itself is kept nowhere. Unsalted and unstretched: a key is 178 random bits, which no dictionary holds.';
comment on column api_key.prefix is 'The first characters of the key, by which its owner knows it in a list.';
comment on column api_key.last_used_at is 'To the minute.';
-- Serves the deletion of a reseller, and lists of its keys.
create index api_key_reseller on api_key (reseller_id);
