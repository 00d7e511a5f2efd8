-- older code: must stop
-- API processes no longer wait for each other's on-demand checks. They keep the answers for requests with maxAge.
-- Older code needs the dropped table for every on-demand check.

drop table question_in_flight;

-- Unlogged: after a crash of the server the next request asks the upstream again.
create unlogged table verify_result (
  -- SHA-256 of the question, in hex.
  question text        primary key,
  -- When the request to the upstream began, by the database's clock.
  asked_at timestamptz not null,
  -- The text of the answer, as the API sent it.
  body     text        not null
);
-- Serves the deletion of answers that are older than ten minutes.
create index verify_result_asked on verify_result (asked_at);
