-- older code: may run
-- Serves the question to whom a change of a fare was sent.
create index watch_change_change on watch_change (change_id) where change_id is not null;
