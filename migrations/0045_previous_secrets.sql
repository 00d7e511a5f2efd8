-- older code: must stop
-- Every secret signs for 24 hours after its rotation, also if a second rotation follows within that time.

create table previous_secret (
  id          bigint      generated always as identity primary key,
  endpoint_id uuid        not null references webhook_endpoint on delete cascade,
  -- Encrypted, as the secret of its endpoint was.
  secret      bytea       not null,
  signs_until timestamptz not null
);
-- Serves the claim of deliveries.
create index previous_secret_endpoint on previous_secret (endpoint_id, signs_until);

insert into previous_secret (endpoint_id, secret, signs_until)
select id, previous_secret, previous_secret_until
  from webhook_endpoint
 where previous_secret_until > now();
alter table webhook_endpoint drop column previous_secret, drop column previous_secret_until;
