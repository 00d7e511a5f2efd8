-- older code: may run
-- What is being asked on demand just now, so that all processes together ask each question once.
-- Older code beside it asks by itself; it breaks nothing.

-- Unlogged: what was in flight when the server crashed is in flight no more.
create unlogged table question_in_flight (
  -- SHA-256 of the question, in hex.
  question    text        primary key,
  -- The attempt, of whichever process.
  asker       uuid        not null,
  started_at  timestamptz not null default clock_timestamp(),
  -- Renewed while the asker lives; once it has passed anybody may ask anew.
  lease_until timestamptz not null,
  -- What came of it, for those who wait for it; null while nothing has.
  said        jsonb
);
