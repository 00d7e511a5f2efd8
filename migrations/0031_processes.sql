-- older code: may run
-- One row a running worker or API, so that status and doctor can list the processes of all hosts.

create table process (
  id               uuid        primary key,
  role             text        not null,
  version          text        not null,
  host             text        not null,
  pid              integer     not null,
  started_at       timestamptz not null default clock_timestamp(),
  -- Refreshed every ten seconds while the process makes progress. A process that stops in order deletes its row.
  last_progress_at timestamptz not null default clock_timestamp()
);
