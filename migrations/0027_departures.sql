-- older code: must stop
-- The instant at which a fare departs, and the reasons of losses and ends.
-- Older code would record departures as losses, and records of the new version without a reason.

alter table fare_state add column departs_at timestamptz;
comment on column fare_state.departs_at is 'When the first of its known flights departs, at UTC−12 where the time zone is unknown; null where no answer has shown a flight. At this instant the fare ends.';
-- Until the next check of a fare its departure is the latest possible one, as before.
update fare_state s
   set departs_at = d.at
  from (select tracked_fare_id,
               least((state #>> '{outbound,flight,departsAt}')::timestamp, (state #>> '{return,flight,departsAt}')::timestamp)
                 at time zone 'UTC' + interval '12 hours' as at
          from fare_state) d
 where d.tracked_fare_id = s.tracked_fare_id and d.at is not null;
-- Serves the end of fares at their departure.
create index fare_state_departs on fare_state (departs_at) where expired_at is null;

alter table availability_change
  add column reason text
    check (reason in ('sold_out', 'sales_closed', 'unknown', 'departed', 'departs_on_passed', 'never_available'));
alter table watch_event
  add column reason text check (reason in ('departed', 'departs_on_passed', 'never_available'));
alter table availability_change alter column schema_version set default 3;
alter table watch_event alter column schema_version set default 3;

create or replace view farewatch.availability_changes as
select seq, id, kind, tracked_fare_id, before, after, last_good_check_at, detected_at, recorded_at, schema_version, reason
  from availability_change;
comment on column farewatch.availability_changes.reason is 'Of became_unavailable: sold_out, sales_closed (confirmed less than 3 hours before departure) or unknown (within a day of a departure in an unknown time zone). Of expired: departed, departs_on_passed or never_available. Null for other kinds, and for records of a schema version below 3.';
comment on column farewatch.availability_changes.schema_version is 'Version of the schema of records: 2 added the kind watch_started to the feeds of watches, 3 added reason. The shape of before and after is that of 1.';

create or replace view farewatch.availability_survival as
select v.tracked_fare_id, v.available_from, v.available_to,
       v.available_to is null as censored,
       coalesce(v.available_to,
                greatest(v.available_from,
                         case when v.closed_at is null then s.last_good_check_at
                              else (select max(c.last_good_check_at)
                                      from availability_change c
                                     where c.tracked_fare_id = v.tracked_fare_id
                                       and c.kind = 'expired' and c.detected_at <= v.closed_at) end))
         - v.available_from as lasted,
       (select c.reason
          from availability_change c
         where c.tracked_fare_id = v.tracked_fare_id and c.detected_at <= v.closed_at
           and c.kind = case when v.available_to is null then 'expired' else 'became_unavailable' end
         order by c.seq desc
         limit 1) as reason
  from (select tracked_fare_id, min(valid_from) as available_from,
               case when bool_or(seen_to is null) then null else max(seen_to) end as available_to,
               case when bool_or(valid_to is null) then null else max(valid_to) end as closed_at
          from (select *, sum(starts) over (partition by tracked_fare_id order by valid_from) as spell
                  from (select tracked_fare_id, pair, valid_from, valid_to,
                               -- A check that finds something else begins the next interval where this one ends.
                               case when lead(valid_from) over fare = valid_to then valid_to end as seen_to,
                               ((lag(pair) over fare, lag(valid_to) over fare)
                                is distinct from (pair, valid_from))::int as starts
                          from fare_belief_version
                        window fare as (partition by tracked_fare_id order by valid_from)) b) s
         where pair = 'bookable'
         group by tracked_fare_id, spell) v
  left join fare_state s on s.tracked_fare_id = v.tracked_fare_id;
comment on column farewatch.availability_survival.reason is 'Why it ended: sold_out, sales_closed or unknown, as availability_changes says; of one that is censored, the reason of the end of its fare. Null while it goes on, and for records of a schema version below 3.';
