-- older code: may run
-- The codes that sign a page in: each is given for new keys once, within ten minutes.

create table sign_in_code (
  hash        bytea       primary key check (length(hash) = 32),
  operator    boolean     not null,
  reseller_id bigint      references reseller on delete cascade,
  expires_at  timestamptz not null,
  check (operator or reseller_id is not null)
);
comment on table sign_in_code is 'Codes that were not used yet. A used one is deleted, and a new one deletes those that have expired.';
comment on column sign_in_code.hash is 'The SHA-256 of the code, which itself is kept nowhere.';
comment on column sign_in_code.operator is 'Whether the code gives a key of an operator.';
comment on column sign_in_code.reseller_id is 'The reseller of whom the code gives a key; null if of none.';
-- Serves the deletion of a reseller.
create index sign_in_code_reseller on sign_in_code (reseller_id);
