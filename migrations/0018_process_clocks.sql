-- older code: may run
-- The clock of each process, so that a wrong one is named.

alter table process add column clock_ahead_seconds double precision;
comment on column process.clock_ahead_seconds is 'The clock of the process minus that of the database; null until it is measured.';
