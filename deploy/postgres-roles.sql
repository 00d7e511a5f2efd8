-- Runs once as the superuser, when the data directory is created. The owner of the tables is not a superuser and has no
-- rights in other databases of the server.
\set ON_ERROR_STOP on
\set farewatch_password `cat /run/secrets/farewatch-password`
\set analyst_password `cat /run/secrets/analyst-password`

-- The migrations grant this role what analysts may read.
create role farewatch_analyst nologin;

-- The login of migrate, api and worker.
create role farewatch login password :'farewatch_password';
grant farewatch_analyst to farewatch with admin option;

-- The login of people and Grafana.
create role analyst login password :'analyst_password' connection limit 20 in role farewatch_analyst;
alter role analyst set default_transaction_read_only = on;
alter role analyst set statement_timeout = '30s';
alter role analyst set idle_in_transaction_session_timeout = '60s';
alter role analyst set temp_file_limit = '2GB';
alter role analyst set search_path = farewatch;

create database farewatch owner farewatch;
revoke all on database farewatch from public;
grant connect on database farewatch to farewatch_analyst;
-- Analysts cannot take the last connections.
grant pg_use_reserved_connections to farewatch;

-- Logins of analysts cannot stop farewatch.
\connect farewatch
\i /etc/farewatch/analyst-limits.sql
