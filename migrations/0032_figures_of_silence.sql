-- older code: may run
-- A belief is stale after ten minutes or six intervals, whichever is longer: an hour hid silence from those who sell.
-- Changes that wait for their record are found by an index, because the delays and the gauges count them each minute.

create or replace function fresh_for(checks_per_second double precision) returns interval language sql immutable as $$
  select greatest(interval '10 minutes', make_interval(secs => 6 / checks_per_second))
$$;
comment on function fresh_for is 'How long after its last good check a belief is fresh: ten minutes or six intervals, whichever is longer. For analysts by the rate of the fare; for a reseller by what it spends itself on the fare, which shows nothing of others. Ten minutes until the fare joins the queue.';
comment on column farewatch.fares_current.stale is 'Whether the belief is too old to be shown as known: no good check for ten minutes or six of its expected intervals, whichever is longer.';

-- Serves the changes that wait: few fares have one.
create index fare_state_contradicted on fare_state (contradicted_since) where contradicted_since is not null;
