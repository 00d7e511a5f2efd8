-- older code: must stop
-- One thing has one name in SQL, the API, metrics and settings. Older code would look for the old ones.

-- The state of a fare is `state`, also in the beliefs of records.
create or replace function shown_belief(belief jsonb) returns jsonb
language sql immutable parallel safe as $$
  select (belief - 'pair' || jsonb_build_object('state', belief -> 'pair'))
         #- '{outbound,identity}' #- '{outbound,itinerary}' #- '{return,identity}' #- '{return,itinerary}'
$$;
comment on function shown_belief is 'A stored belief as public SQL shows it, without the texts by which answers are compared.';

do $$
declare
  c record;
begin
  for c in select attrelid::regclass as of_view, attname as of_column,
                  replace(regexp_replace(d.description, '\m(the|bookable) pair\M', '\1 fare', 'g'), ': pair,', ': state,') as text
             from pg_description d
             join pg_class v on v.oid = d.objoid and v.relnamespace = 'farewatch'::regnamespace
             join pg_attribute a on a.attrelid = d.objoid and a.attnum = d.objsubid
            where d.description ~ '\m(the|bookable) pair\M|: pair,' loop
    execute format('comment on column %s.%I is %L', c.of_view, c.of_column, c.text);
  end loop;
end;
$$;

-- A fare is `fare_id`, as it is `fareId` in the API.
alter view farewatch.availability_changes rename column tracked_fare_id to fare_id;
alter view farewatch.fare_history rename column tracked_fare_id to fare_id;
alter view farewatch.fare_schedule rename column tracked_fare_id to fare_id;
alter view farewatch.fare_survival rename column tracked_fare_id to fare_id;
alter view farewatch.fares_current rename column tracked_fare_id to fare_id;
alter view farewatch.watch_changes rename column tracked_fare_id to fare_id;
comment on view farewatch.fare_schedule is 'For operators: how often each fare is checked. Not readable by farewatch_analyst, because rates say how many watches a fare has and of which priority. One row a fare that is checked. Key: fare_id.';
comment on view farewatch.fare_survival is 'Spells of bookability: how long a fare could be bought. One row a spell of a fare. Key: fare_id, valid_from.';
comment on view farewatch.fares_current is 'What is believed of each tracked fare. One row a tracked fare that was checked. Key: fare_id.';
do $$
declare
  definition text := pg_get_functiondef('farewatch.fares_as_of'::regproc);
  about text := obj_description('farewatch.fares_as_of'::regproc);
begin
  drop function farewatch.fares_as_of(timestamptz);
  execute replace(definition, 'TABLE(tracked_fare_id ', 'TABLE(fare_id ');
  execute format('comment on function farewatch.fares_as_of is %L', replace(about, 'tracked_fare_id', 'fare_id'));
end;
$$;
alter view farewatch.fare_schedule rename column longest_interval_seconds to expected_interval_seconds;
comment on column farewatch.fare_schedule.not_before is 'The end of its minimum interval.';

-- The first check of a watch is `first_check` as a lane, a reason and in the API, where it was that for a reseller alone.
alter table fare_schedule drop constraint fare_schedule_lane_check;
alter table fare_state drop constraint fare_state_last_check_why_check;
update fare_schedule set lane = 'first_check' where lane = 'new_watch';
update fare_state set last_check_why = 'first_check' where last_check_why = 'new_watch';
alter table fare_schedule
  add constraint fare_schedule_lane_check check (lane in ('max_delay', 'confirmation', 'first_check', 'retry'));
alter table fare_state
  add constraint fare_state_last_check_why_check
    check (last_check_why in ('scheduled', 'max_delay', 'confirmation', 'first_check', 'retry', 'route_moved', 'on_demand'));
drop index fare_schedule_first_checks;
-- Serves first checks: those of each reseller in their order.
create index fare_schedule_first_checks on fare_schedule (lane_reseller, lane_due_at) where lane = 'first_check';
