-- older code: may run
-- When its minimum interval has ended a fare stands at most one turn behind the virtual clock.
-- The interval was turned into virtual time by the tickets of the moment: of few, it was worth rounds of all who came later.

-- Until when the ends of rests have been looked at.
alter table recheck_clock add column rested_to timestamptz not null default clock_timestamp();
-- Serves the ends of rests since the last look.
create index fare_schedule_rest on fare_schedule (not_before);

update fare_schedule s set vdue = c.v + 1 / s.ticket from recheck_clock c where s.vdue > c.v + 1 / s.ticket;
