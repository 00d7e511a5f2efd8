-- Logins of analysts may take no advisory locks, which could stop every sync, and store no large objects.
--
-- PostgreSQL grants both to PUBLIC, and only a superuser can revoke it. "farewatch migrate" runs this file after its
-- migrations; if its user is no superuser, the file does nothing. A superuser can then run it in the database, as often as
-- they like. It also lets the owner cancel statements of analysts that run too long.
do $$
declare
  owners  text := (select string_agg(quote_ident(rolname), ', ')
                     from pg_roles
                    where not rolsuper
                      and oid in (select datdba from pg_database where datname = current_database()
                                  union all
                                  select nspowner from pg_namespace where nspname = 'farewatch_private'));
  limited text := (select string_agg(oid::regprocedure::text, ', ')
                     from pg_proc
                    where pronamespace = 'pg_catalog'::regnamespace
                      and proname ~ '^(pg_(try_)?advisory_|lo_|loread$|lowrite$)');
begin
  if not (select rolsuper from pg_roles where rolname = current_user) then
    raise notice 'this user is no superuser: logins of analysts may take advisory locks';
    return;
  end if;
  execute format('revoke execute on function %s from public', limited);
  if owners is not null then
    execute format('grant execute on function %s to %s', limited, owners);
    execute format('grant pg_read_all_stats, pg_signal_backend to %s', owners);
  end if;
end
$$;
