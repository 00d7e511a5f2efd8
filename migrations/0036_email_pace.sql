-- older code: may run
-- The limit of e-mail messages an hour: one row for each address of a reseller, shared by all processes.

create table email_pace (
  reseller_id   bigint      not null references reseller on delete cascade,
  -- SHA-256 of the address in lower case.
  address_hash  bytea       not null,
  -- When the next message would be due if all messages were spread evenly. Further ahead than the burst allows, none is sent.
  next_at       timestamptz not null,
  primary key (reseller_id, address_hash)
);
