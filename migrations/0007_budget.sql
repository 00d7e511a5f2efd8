-- older code: may run
-- The budget of upstream requests: one paced reservation for all processes (GCRA, burst of one).

create table upstream_budget (
  only_row       boolean     primary key default true check (only_row),
  -- The earliest instant that is not yet given away: to anybody, and to all lanes together.
  next_slot_at   timestamptz not null default '-infinity',
  next_lane_at   timestamptz not null default '-infinity'
);
insert into upstream_budget default values;
