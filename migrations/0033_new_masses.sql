-- older code: must stop
-- A mass raises the time that answers must span, and counts what is new.
-- What the last answer about a flight showed is written when it is known.

drop table asked_flight;
create unlogged table asked_flight (
  flight_id    text        collate "C" primary key,
  fare_id      bigint      not null,
  asked_at     timestamptz not null,
  is_available boolean     not null,
  airline      text,
  numbers      text,
  shows        text,
  since        timestamptz not null,
  counts_until timestamptz not null,
  differences  text[]      not null default '{}',
  is_recorded  boolean     not null default false
) with (fillfactor = 70);
comment on table asked_flight is 'What the last answer about each flight showed. Not logged: masses are counted from the last answers alone.';
comment on column asked_flight.fare_id is 'The fare for which the answer showed it.';
comment on column asked_flight.asked_at is 'When the request of the last answer about the flight began.';
comment on column asked_flight.is_available is 'Whether the flight was believed available: then it can be lost or change, else it can be gained.';
comment on column asked_flight.shows is 'The kind of change that the answer would make, or that was recorded; null where it shows what is believed.';
comment on column asked_flight.since is 'When the first answer began that showed it.';
comment on column asked_flight.counts_until is 'Until when the change counts as new: for five minutes, or two rounds of the fare, from the first answer or from its record.';
comment on column asked_flight.differences is 'What the change may have in common with those of other flights.';
comment on column asked_flight.is_recorded is 'Whether the change was recorded.';
-- Serves the last hundred flights.
create index asked_flight_last on asked_flight (asked_at);
-- Serves the last hundred flights of an airline.
create index asked_flight_airline on asked_flight (airline, asked_at);
-- Serves the flights with one difference: few show a change.
create index asked_flight_differences on asked_flight using gin (differences) where shows is not null;

alter table fare_state
  alter held drop default,
  alter held drop not null,
  alter held type text using held[1],
  add unusable smallint not null default 0,
  add unusable_since timestamptz;
comment on column fare_state.held is 'The kind of change that waits for a mass; null where none does.';
comment on column fare_state.unusable is 'How many of its last answers in a row were unusable.';
comment on column fare_state.unusable_since is 'When the first of them began; null where the last answer was usable.';
alter table fare_state
  drop constraint fare_state_hidden_check,
  add constraint fare_state_hidden_check check (hidden in ('held', 'identity_mismatch', 'unanswered'));
comment on column farewatch.fares_current.hidden_reason is 'Why outbound, return and state are shown as unknown although a belief is held beneath: held (a mass of such changes waits), identity_mismatch (the answers show another flight), unanswered (its last answers were unusable). Null otherwise; stale is a column of its own.';

-- What waits now keeps its ten minutes.
update fare_state
   set state = (state - 'holds' - 'held')
               || jsonb_build_object('candidate', case when jsonb_typeof(state -> 'candidate') = 'object' then
                    (state -> 'candidate')
                    || jsonb_build_object('heldSince', to_jsonb(held_since),
                                          'heldUntil', to_jsonb(held_since + interval '10 minutes')) end)
 where state -> 'candidate' is not null and state -> 'candidate' <> 'null';

update incident set detail = detail || '{"masses": [{"airline": null, "difference": null}]}' where closed_at is null;
