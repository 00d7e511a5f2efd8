-- older code: may run
-- A page that signs out revokes the keys that its sign-in gave it.
-- A key that somebody pasted may be used elsewhere and stays. Keys that sign-ins gave before end after their thirty days.

alter table api_key add column of_sign_in boolean not null default false;
comment on column api_key.of_sign_in is 'Whether a sign-in of the page gave it: then signing out revokes it.';
