-- older code: may run
-- When each recurring piece of work is due. The queue only wakes us: what it forgets is still owed here.

create table schedule (
  name        text        primary key,
  cron        text        not null,
  next_due_at timestamptz not null,
  last_due_at timestamptz
);
