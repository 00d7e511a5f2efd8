-- older code: may run
-- Constraints are named after the present names of their tables and columns, as those of a new database are.
do $$
declare
  irregular record;
begin
  for irregular in
    select c.conrelid::regclass as tab, c.conname as old,
           case when c.contype = 'n'
                then format('%s_%s_not_null', t.relname, a.attname)
                else regexp_replace(c.conname, '^(recheck_clock|recheck_factor)', t.relname) end as new
      from pg_constraint c
      join pg_class t on t.oid = c.conrelid
      left join pg_attribute a on a.attrelid = c.conrelid and a.attnum = c.conkey[1]
     where c.connamespace = 'farewatch_private'::regnamespace and t.relname !~ '^kysely_'
  loop
    if irregular.old <> irregular.new then
      execute format('alter table %s rename constraint %I to %I', irregular.tab, irregular.old, irregular.new);
    end if;
  end loop;
end
$$;

-- The private view behind the public views of fares names places as they do.
alter view shown_flights rename column outbound_departure_place_id to outbound_departure_id;
alter view shown_flights rename column outbound_destination_place_id to outbound_destination_id;
alter view shown_flights rename column return_departure_place_id to return_departure_id;
alter view shown_flights rename column return_destination_place_id to return_destination_id;
