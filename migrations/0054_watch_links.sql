-- older code: may run
-- Links that show one watch to people without a key, until they expire or are revoked.

create table watch_link (
  hash       bytea       primary key check (length(hash) = 32),
  watch_id   uuid        not null references watch on delete cascade,
  expires_at timestamptz not null
);
comment on table watch_link is 'Links to a page of one watch. A new one deletes those that have expired.';
comment on column watch_link.hash is 'The SHA-256 of the code of the link, which itself is kept nowhere.';
-- Serves the list of the links of a watch, and its deletion.
create index watch_link_watch on watch_link (watch_id);
-- Serves the deletion of expired links.
create index watch_link_expires on watch_link (expires_at);
