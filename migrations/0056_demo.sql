-- older code: may run
-- What `npm start` without an upstream shows: how much of the history was made up, and a flight to try.

create table demo (
  is_row        boolean     primary key default true check (is_row),
  history_since timestamptz,
  history_until timestamptz,
  flight_id     text
);
comment on table demo is 'One row where the embedded sandbox has been the upstream.';
comment on column demo.history_since is 'From here on to history_until the history was made up at the first start. Null: none was.';
comment on column demo.history_until is 'Grows while the history is made up.';
comment on column demo.flight_id is 'A flight of the sandbox that can be booked and that the demo does not watch. Null without such a flight, and while there is another upstream.';
