-- older code: must stop
-- Names of the schedule's columns and indexes that say what they hold. The public view follows its columns by itself.

alter table recheck_clock rename column turn to expected_interval;
alter table recheck_clock rename column rested_to to capped_to;
alter index fare_schedule_turn rename to fare_schedule_vdue;
alter index fare_schedule_rest rename to fare_schedule_not_before;

comment on table fare_schedule is 'When each fare with an active watch is checked next. Ended and expired fares have no row.';
comment on column fare_schedule.vdue is 'Virtual due time: the fares with the smallest are checked first.';
comment on column fare_schedule.ticket is 'Share of the budget: a check moves vdue forward by 1 / ticket.';
comment on column fare_schedule.not_before is 'End of the minimum interval, or of the lease of a claim.';
comment on column fare_schedule.lane is 'Why the fare is checked before the schedule says so; null where it is not.';
comment on table recheck_clock is 'The virtual clock of the schedule.';
comment on column recheck_clock.v is 'Virtual time: the largest virtual due time that was claimed.';
comment on column recheck_clock.expected_interval is 'How long one check of every fare takes at the budget, as last counted.';
comment on column recheck_clock.capped_to is 'Fares whose minimum interval ended before this have no virtual due time further than one check of each fare ahead.';
