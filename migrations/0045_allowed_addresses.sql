-- older code: must stop
-- An operator allows the e-mail addresses of a reseller. Their owners confirm nothing, and no link in a message acts.
-- Older code would ask owners, and send to addresses that no operator has allowed.

create table allowed_address (
  reseller_id  bigint      not null references reseller on delete cascade,
  address_hash bytea       not null check (length(address_hash) = 32),
  shown        text        not null,
  allowed_at   timestamptz not null default clock_timestamp(),
  primary key (reseller_id, address_hash)
);
comment on table allowed_address is 'The e-mail addresses that a reseller may have messages sent to. What is allowed to one reseller holds for no other.';
comment on column allowed_address.address_hash is 'The target_hash of its endpoints.';
comment on column allowed_address.shown is 'All that may be printed of the address: its first character and its domain.';
comment on column allowed_address.allowed_at is 'When an operator allowed it, or its owner confirmed it before operators did.';

insert into allowed_address (reseller_id, address_hash, shown, allowed_at)
select reseller_id, address_hash, shown, changed_at from email_address where state = 'confirmed';
drop table email_link;
drop table email_address;

alter table webhook_endpoint drop constraint webhook_endpoint_disabled_reason_check;
update webhook_endpoint set disabled_reason = 'not_allowed' where disabled_reason in ('unconfirmed', 'unsubscribed');
alter table webhook_endpoint add constraint webhook_endpoint_disabled_reason_check
  check (disabled_reason in ('paused', 'gone', 'failing', 'not_allowed'));
comment on column webhook_endpoint.target_hash is 'SHA-256 of the target without what does not distinguish receivers: limits and allowed addresses belong to it. Null until the first start of a process with the key after the migration that added it.';
update delivery set payload = jsonb_set(payload, '{reason}', '"not_allowed"')
 where type = 'webhook.disabled' and payload ->> 'reason' = 'unsubscribed';

delete from target_pace where purpose in ('confirmation', 'reseller_confirmations');
alter table target_pace drop constraint target_pace_purpose_check;
alter table target_pace add constraint target_pace_purpose_check check (purpose in ('message', 'test'));
comment on column target_pace.target_hash is 'As in webhook_endpoint.';
