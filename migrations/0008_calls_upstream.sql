-- older code: must stop
-- The budget of calls to the upstream, its circuit breakers, and what the calls were spent on.

create table upstream_budget (
  only_row      boolean          default true primary key check (only_row),
  next_slot_at  timestamptz      not null default '-infinity',
  next_lane_at  timestamptz      not null default '-infinity',
  paused_until  timestamptz      not null default 'epoch',
  pauses_in_row integer          not null default 0,
  share         double precision not null default 1 check (share > 0 and share <= 1),
  recovers_from timestamptz      not null default 'epoch',
  lowered_at    timestamptz      not null default 'epoch'
);
comment on table upstream_budget is 'One row: the next free slot of the budget, and the pause that the upstream asked for.';
comment on column upstream_budget.next_slot_at is 'The earliest instant that is not yet given away.';
insert into upstream_budget default values;

create table upstream_breaker (
  only_row boolean default true primary key check (only_row),
  breakers jsonb   not null default '{
    "lists":  {"auth":   {"open": null, "failures": 0, "failedAtMs": null, "closedAtMs": null},
               "errors": {"open": null, "failures": 0, "failedAtMs": null, "closedAtMs": null}},
    "verify": {"auth":   {"open": null, "failures": 0, "failedAtMs": null, "closedAtMs": null},
               "errors": {"open": null, "failures": 0, "failedAtMs": null, "closedAtMs": null}}
  }'
);
comment on table upstream_breaker is 'One row: the circuit breakers of all processes.';
comment on column upstream_breaker.breakers is 'By group of endpoints and breaker, as src/upstream/breaker/breaker-state.ts describes them.';
insert into upstream_breaker default values;

create table call_minute (
  minute      timestamptz      not null,
  lane        text             not null,
  reseller_id bigint           not null,
  priority    text             not null,
  calls       double precision not null,
  primary key (minute, lane, reseller_id, priority)
);
comment on table call_minute is 'Slots of the budget that were taken, by minute. Processes add to it every ten seconds; kept for two hours.';
comment on column call_minute.reseller_id is '0: no reseller, as for lists and questions on demand.';
comment on column call_minute.calls is 'Resellers of one fare share its check in equal parts.';
