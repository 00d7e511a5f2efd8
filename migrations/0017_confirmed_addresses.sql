-- older code: must stop
-- E-mail addresses are confirmed before their first message, and limits belong to targets, over all resellers.
-- Older code would send to addresses that are not confirmed.

alter table webhook_endpoint add column target_hash bytea;
comment on column webhook_endpoint.target_hash is 'SHA-256 of the target without what does not distinguish receivers: limits and confirmations belong to it. Null until the first start of a process with the key after the migration that added it.';

alter table webhook_endpoint drop constraint webhook_endpoint_disabled_reason_check;
alter table webhook_endpoint add constraint webhook_endpoint_disabled_reason_check
  check (disabled_reason in ('paused', 'gone', 'failing', 'unconfirmed', 'unsubscribed'));

create table email_address (
  reseller_id  bigint      not null references reseller on delete cascade,
  address_hash bytea       not null check (length(address_hash) = 32),
  shown        text        not null,
  state        text        not null default 'unconfirmed' check (state in ('unconfirmed', 'confirmed', 'unsubscribed')),
  changed_at   timestamptz not null default clock_timestamp(),
  requested_at timestamptz,
  send_at      timestamptz,
  attempts     integer     not null default 0,
  sent_at      timestamptz,
  failure      text,
  primary key (reseller_id, address_hash),
  check (send_at is null or state = 'unconfirmed')
);
comment on table email_address is 'Whether the owner of an e-mail address wants the messages of a reseller. What an owner confirmed for one reseller holds for no other.';
comment on column email_address.address_hash is 'The target_hash of its endpoints.';
comment on column email_address.shown is 'All that may be printed of the address: its first character and its domain.';
comment on column email_address.changed_at is 'When it came into its state.';
comment on column email_address.requested_at is 'When a message that asks for the confirmation was last requested; null if none was.';
comment on column email_address.send_at is 'When that message is sent, or tried again; null if none waits.';
comment on column email_address.attempts is 'How often the requested message was tried.';
comment on column email_address.sent_at is 'When the mail server accepted the last one; null if it has accepted none.';
comment on column email_address.failure is 'Why the last attempt failed: a stable code. Null if it did not.';
-- Serves the messages that ask for a confirmation.
create index email_address_due on email_address (send_at) where send_at is not null;

create table email_link (
  token_hash   bytea       primary key check (length(token_hash) = 32),
  purpose      text        not null check (purpose in ('confirm', 'unsubscribe')),
  reseller_id  bigint      not null,
  address_hash bytea       not null,
  expires_at   timestamptz,
  foreign key (reseller_id, address_hash) references email_address on delete cascade,
  check ((purpose = 'confirm') = (expires_at is not null))
);
comment on table email_link is 'The links in e-mail that confirm an address, once, and those that end its messages.';
comment on column email_link.token_hash is 'The SHA-256 of the token in the link, which itself is kept nowhere.';
comment on column email_link.expires_at is 'Until when it confirms. The links that end messages have no end.';
-- Serves the deletion of an address, and of the links that a newer one replaces.
create index email_link_address on email_link (reseller_id, address_hash);

create table target_pace (
  purpose     text        not null check (purpose in ('message', 'test', 'confirmation', 'reseller_confirmations')),
  target_hash bytea       not null,
  next_at     timestamptz not null,
  primary key (purpose, target_hash)
);
comment on table target_pace is 'When a target may be sent the next of what is limited: limits over all processes and resellers.';
comment on column target_pace.target_hash is 'As in webhook_endpoint. For reseller_confirmations, that of a reseller.';
comment on column target_pace.next_at is 'When the next one would be due if all were spread evenly. Further ahead than the burst allows, none is sent.';
insert into target_pace (purpose, target_hash, next_at)
select 'message', address_hash, max(next_at) from email_pace group by address_hash;
drop table email_pace;
