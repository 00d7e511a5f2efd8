-- older code: must stop
-- The circuit breakers of the upstream in one row, which every process reads and locks as a whole.
-- Open breakers are forgotten: while calls fail, they open again after 20 of them.

drop table upstream_breaker;

create table upstream_breaker (
  only_row boolean primary key default true check (only_row),
  -- By group of endpoints and breaker, as src/upstream/breaker/breaker-state.ts describes them.
  breakers jsonb   not null default '{
    "lists":  {"auth":   {"open": null, "failures": 0, "failedAtMs": null, "closedAtMs": null},
               "errors": {"open": null, "failures": 0, "failedAtMs": null, "closedAtMs": null}},
    "verify": {"auth":   {"open": null, "failures": 0, "failedAtMs": null, "closedAtMs": null},
               "errors": {"open": null, "failures": 0, "failedAtMs": null, "closedAtMs": null}}
  }'
);
insert into upstream_breaker default values;
