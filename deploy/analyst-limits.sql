-- Logins of analysts may take no advisory locks, which could stop every sync, and store no large objects and no temporary
-- tables.
--
-- PostgreSQL grants these to PUBLIC, and only a superuser can revoke them. "farewatch migrate" runs this file after its
-- migrations; if its user is no superuser, the file does nothing. A superuser can then run it in the database, as often as
-- they like. It also lets the owner cancel statements of analysts that run too long, and limit
-- the temporary files of the logins that it creates; those that there are get the limit here.
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
  login   text;
begin
  if not (select rolsuper from pg_roles where rolname = current_user) then
    raise notice 'this user is no superuser: logins of analysts may take advisory locks';
    return;
  end if;
  execute format('revoke execute on function %s from public', limited);
  execute format('revoke temporary on database %I from public', current_database());
  if owners is not null then
    execute format('grant execute on function %s to %s', limited, owners);
    execute format('grant pg_read_all_stats, pg_signal_backend to %s', owners);
    execute format('grant temporary on database %I to %s', current_database(), owners);
    execute format('grant set on parameter temp_file_limit to %s', owners);
  end if;
  for login in
    select rolname from pg_roles r
     where rolcanlogin and not rolsuper and pg_has_role(r.oid, 'farewatch_analyst', 'member')
       and not exists (select from unnest(rolconfig) c where c like 'temp_file_limit=%')
       and oid not in (select datdba from pg_database)
  loop
    begin
      execute format('alter role %I set temp_file_limit = %L', login, '2GB');
    exception when undefined_object or internal_error then
      -- Logins belong to the server: it was dropped or altered meanwhile.
      raise notice 'login % is not limited', login;
    end;
  end loop;
end
$$;
