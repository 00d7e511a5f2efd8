-- older code: may run
-- Fares that follow changed paces do so in parts, whichever process runs next.

alter table fare_schedule_clock
  add following   bigint[] not null default '{}',
  add followed_to bigint   not null default 0;
comment on column fare_schedule_clock.following is 'The resellers whose fares are put in line with their paces, in the order of their numbers. Empty: none.';
comment on column fare_schedule_clock.followed_to is 'The last fare of them that was. 0: none.';
