-- older code: may run
-- The calls that the budget was spent on, by minute: for an hour of the page.

create table call_minute (
  minute      timestamptz      not null,
  lane        text             not null,
  -- 0: no reseller, as for lists and questions on demand.
  reseller_id bigint           not null,
  priority    text             not null,
  -- Resellers of one fare share its check in equal parts.
  calls       double precision not null,
  primary key (minute, lane, reseller_id, priority)
);
comment on table call_minute is 'Slots of the budget that were taken, by minute. Processes add to it every ten seconds; kept for two hours.';
