-- older code: must stop
-- Formats of chats, bodies of a reseller's own form, headers of its own, and links that a reseller makes.
-- Older code would stop at a format that it does not know, and give a link more than its maker may.

alter table webhook_endpoint drop constraint webhook_endpoint_format_check;
alter table webhook_endpoint add constraint webhook_endpoint_format_check
  check (format in ('webhook', 'json', 'slack', 'teams', 'discord', 'telegram', 'ntfy', 'email'));
alter table webhook_endpoint
  add column template jsonb,
  add column headers bytea,
  add column header_names text[] not null default '{}',
  add constraint webhook_endpoint_template_check check ((template is not null) = (format = 'json')),
  add constraint webhook_endpoint_headers_check check ((headers is not null) = (header_names <> '{}'));
comment on column webhook_endpoint.template is 'The form of a body, with names of fields in braces; null for formats that have a form.';
comment on column webhook_endpoint.headers is 'Headers that the reseller adds to each request, as JSON, encrypted; null: none. header_names is all that may be printed.';

alter table sign_in_code add column made_by bigint references api_key on delete cascade;
comment on column sign_in_code.made_by is 'The key that made the code by the API: what the code gives may no more, and ends no later. Null of an operator at the command line.';
-- Serves the deletion of a key.
create index sign_in_code_made_by on sign_in_code (made_by);
