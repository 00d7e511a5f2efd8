-- Runs once, as the superuser, when the data directory is made. Who owns the tables is no superuser, and may do
-- nothing to another database of the server.
\set ON_ERROR_STOP on
\set farewatch_password `cat /run/secrets/farewatch-password`
\set analyst_password `cat /run/secrets/analyst-password`

-- What analysts may read is granted to this role by the migrations.
create role farewatch_analyst nologin;

-- migrate, api and worker.
create role farewatch login password :'farewatch_password';
grant farewatch_analyst to farewatch with admin option;

-- People and Grafana.
create role analyst login password :'analyst_password' connection limit 20 in role farewatch_analyst;
alter role analyst set default_transaction_read_only = on;
alter role analyst set statement_timeout = '30s';
alter role analyst set search_path = farewatch;

create database farewatch owner farewatch;
revoke all on database farewatch from public;
grant connect on database farewatch to farewatch_analyst;
