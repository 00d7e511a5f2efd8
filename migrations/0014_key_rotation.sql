-- older code: may run
-- A reseller replaces its own key: the new one names the one that it replaces.

alter table api_key add column replaces bigint references api_key on delete set null;
comment on column api_key.replaces is 'The key that was rotated for this one; null if an operator or a sign-in made it.';
-- Serves the deletion of keys, and the end of a key that is rotated twice.
create index api_key_replaces on api_key (replaces) where replaces is not null;
