-- older code: must stop
-- Endpoints of operators: the account that owns them, quiet hours, and what their messages have reported.
-- Older code would list the account among the resellers.

insert into reseller (id, name, share) overriding system value values (-1, '(operators)', 0.01);

alter table webhook_endpoint add column quiet_hours jsonb;
comment on column webhook_endpoint.quiet_hours is 'When nothing but what is critical is sent; null: always.';

create table warning_report (
  only_row boolean     not null default true primary key check (only_row),
  read_at  timestamptz not null default '2000-01-01Z',
  warnings jsonb       not null default '[]'
);
comment on table warning_report is 'What the last reading of the status found, and what of it operators were sent. Its lock makes processes report in turn.';
comment on column warning_report.warnings is 'Each warning with when it began in the last hour, and the level that was sent last.';
insert into warning_report default values;
