-- older code: must stop
-- The number of a record carries its generation: (generation - 1) * 10^10 + n.
-- Where a generation begins, the last number of every feed becomes its start, so no table has to say what numbers a feed leaves out.

drop table feed_gap;
delete from generation where number < (select max(number) from generation);
alter table generation drop column reason;
create unique index generation_row on generation ((true));
comment on index generation_row is 'There is one row, whose lock lets a generation begin once.';
comment on table generation is 'The present generation of the feeds. Another one begins when the database was restored from a backup, or when a standby took over.';
comment on column generation.number is 'Later ones are greater. Numbers may be left out. A record has (number - 1) * 10^10 + n.';

-- A database that was restored before keeps the numbers that it has given, a million apart. Its feeds go on in the present
-- generation by the new rule, so a number that a restore discarded is one of an older generation, and is refused as before.
update feed_head set last_seq = (number - 1) * 10000000000 from generation where number > 1;
update reseller set last_seq = (number - 1) * 10000000000 from generation where number > 1;

alter table feed_head drop column numbers_from;
alter table reseller drop column numbers_from;
