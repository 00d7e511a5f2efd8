-- older code: must stop
-- Resellers share the budget: each has a queue of its own, and checks go by what each has paid.

alter table reseller add column share double precision not null default 1 check (share between 0.01 and 1000);
comment on column reseller.share is 'Its share of the checks, against those of the other resellers.';

alter table watch
  add column priority          text    not null default 'normal' check (priority in ('low', 'normal', 'high', 'urgent')),
  add column max_delay_seconds integer check (max_delay_seconds > 0);
comment on column watch.priority is 'How much an early detection is worth: low 1, normal 2, high 5, urgent 20.';
comment on column watch.max_delay_seconds is 'The longest interval between checks that its reseller asked for.';

alter table tracked_fare
  add column resellers         bigint[]           not null default '{}',
  add column weights           double precision[] not null default '{}',
  add column max_delay_seconds integer;
comment on column tracked_fare.resellers is 'The resellers of its active watches, ascending: each pays an equal part of a check.';
comment on column tracked_fare.weights is 'For each of its resellers the sum of the priorities of its active watches.';
comment on column tracked_fare.max_delay_seconds is 'The smallest of its active watches.';

with active as (
  select w.tracked_fare_id as id, w.reseller_id, 2.0 * count(*) as weight
    from watch w
    join reseller r on r.id = w.reseller_id and r.disabled_at is null
   where w.paused_at is null and w.ended_at is null
   group by w.tracked_fare_id, w.reseller_id)
update tracked_fare f
   set resellers = a.resellers, weights = a.weights
  from (select id, array_agg(reseller_id order by reseller_id) as resellers,
               array_agg(weight::float8 order by reseller_id) as weights
          from active group by id) a
 where f.id = a.id;

-- The queues of the resellers. Number 0 stands for fares that no reseller watches.
create table recheck_payer (
  reseller_id bigint           primary key,
  pass        double precision not null default 0,
  v           double precision not null default 0,
  tickets     double precision not null default 0,
  fares       bigint           not null default 0,
  budget_part double precision not null default 1 check (budget_part > 0),
  promised    double precision not null default 0
) with (fillfactor = 50);
comment on table recheck_payer is 'The queues of the resellers: a reseller pays for the fares in its queue.';
comment on column recheck_payer.pass is 'What it has paid: the reseller with the least comes next. A check costs 1 / share, which all resellers of the fare pay in equal parts.';
comment on column recheck_payer.v is 'The clock of its queue: the largest virtual due time that was claimed.';
comment on column recheck_payer.tickets is 'The sum of the tickets in its queue, as last counted.';
comment on column recheck_payer.fares is 'The number of fares in its queue, as last counted.';
comment on column recheck_payer.budget_part is 'The part of the budget that its queue can have, as last counted: its share, and what the others leave.';
comment on column recheck_payer.promised is 'The checks a second that max_delay_seconds of the fares in its queue need, as last counted.';
insert into recheck_payer (reseller_id, v)
select id, v from recheck_clock, (select 0 as id union all select id from reseller) r;

alter table recheck_clock drop column v;
alter table recheck_clock drop column tickets;
alter table recheck_clock add column pass double precision not null default 0;
alter table recheck_clock rename column capped_to to dispatched_at;
comment on column recheck_clock.pass is 'The largest pass of a reseller when its fare was claimed. A reseller that had no fare due starts there.';
comment on column recheck_clock.dispatched_at is 'When fares were claimed last.';

-- A claim writes columns that no index has, so that it updates the row in its page and no index.
alter table fare_schedule
  add column payer        bigint      not null default 0,
  add column leased_until timestamptz not null default '-infinity';
comment on column fare_schedule.payer is 'The reseller in whose queue the fare is: of its resellers the one with the least pass, chosen at each check.';
comment on column fare_schedule.leased_until is 'End of the lease of a claim.';
comment on column fare_schedule.not_before is 'End of the minimum interval.';
comment on column fare_schedule.vdue is 'Virtual due time: of the fares of its payer the one with the smallest is checked first.';
update fare_schedule q
   set payer = f.resellers[1 + q.tracked_fare_id % cardinality(f.resellers)],
       leased_until = case when q.claim_id is not null then q.not_before else '-infinity' end
  from tracked_fare f
 where f.id = q.tracked_fare_id and f.resellers <> '{}';

drop index fare_schedule_claim;
drop index fare_schedule_vdue;
-- Serves the claim: the fares of a payer, the smallest virtual due time first.
create index fare_schedule_vdue on fare_schedule (payer, vdue);
drop index fare_schedule_not_before;
-- Serves the claim: the payers that have fares due, and all of them where they are few.
create index fare_schedule_not_before on fare_schedule (payer, not_before);
