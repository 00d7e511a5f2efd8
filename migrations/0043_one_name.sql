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
