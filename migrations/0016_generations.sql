-- older code: may run
-- Generations of the feeds, so that no number is given twice after a restore.
-- A restored database does not know which numbers were given after its backup: each feed goes on far above its last one.
-- Older code may run until a generation begins, which happens after a restore alone.

create table generation (
  number   bigint      primary key check (number > 0),
  reason   text        not null check (reason in ('first', 'identity', 'command')),
  began_at timestamptz not null default clock_timestamp(),
  database text,
  timeline integer
);
comment on table generation is 'The generations of the feeds. Another one begins when the database was restored from a backup, or when a standby took over.';
comment on column generation.number is 'Later ones are greater. Numbers may be left out.';
comment on column generation.reason is 'first: the database was created. identity: a process found another database or timeline at its start. command: an operator ran "farewatch restored".';
comment on column generation.database is 'The identity of the database: the system identifier of the server and the oid of the database. Null until a process could read it.';
comment on column generation.timeline is 'The timeline of its write-ahead log. A server that ends a recovery begins another one.';
insert into generation (number, reason) values (1, 'first');

create table feed_gap (
  feed        text   not null check (feed in ('route', 'availability', 'watch')),
  reseller_id bigint references reseller on delete cascade check ((feed = 'watch') = (reseller_id is not null)),
  generation  bigint not null references generation,
  after_seq   bigint not null,
  next_seq    bigint not null check (next_seq > after_seq),
  unique nulls not distinct (feed, reseller_id, generation)
);
comment on table feed_gap is 'The numbers that each feed leaves out where a generation begins. The feed of a reseller that was created later begins with one.';
comment on column feed_gap.generation is 'The generation that begins after the gap.';
comment on column feed_gap.after_seq is 'The last number before the gap: the end of the feed in the restored copy.';
comment on column feed_gap.next_seq is 'The first number after the gap.';

alter table feed_head add column numbers_from bigint not null default 0;
comment on column feed_head.numbers_from is 'The first number of the present generation: the next record gets this one at least.';
alter table reseller add column numbers_from bigint not null default 0;
comment on column reseller.numbers_from is 'The first number of the present generation in the feed of its watches: the next record gets this one at least.';
