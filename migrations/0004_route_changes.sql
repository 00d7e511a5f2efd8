-- older code: may run
-- The feed of confirmed route changes. Never pruned; its numbers are dense and in commit order.

create table route_change (
  seq             bigint      primary key,
  id              uuid        not null default uuidv7() unique,
  kind            text        not null check (kind in ('route_added', 'route_removed', 'route_gained_availability', 'route_lost_availability', 'place_changed')),
  departure_id    text,
  destination_id  text,
  place_id        text,
  before          jsonb,
  after           jsonb,
  last_seen_at    timestamptz,
  first_missed_at timestamptz not null,
  recorded_at     timestamptz not null default clock_timestamp(),
  sync_run_id     bigint      not null references sync_run,
  check ((kind = 'place_changed') = (place_id is not null)),
  check ((place_id is null) = (departure_id is not null and destination_id is not null))
);
-- Serves one route's changes.
create index route_change_route on route_change (departure_id, destination_id, seq) where place_id is null;
-- Serves "what did this run change".
create index route_change_run on route_change (sync_run_id);

insert into feed_head (feed) values ('route');
