import { type Db, sql } from '../../platform/db/database.ts'

/**
 * Drops what a killed replay left, and creates the tables of a new one. They are not logged: a crash of the server
 * empties them, and the next replay drops them.
 *
 * Positions number the accepted runs of a list, from 1. A span of positions is a half-open range.
 */
export async function createReplaySchema(db: Db): Promise<void> {
  await dropReplaySchema(db)
  const statements = [
    'create schema farewatch_replay',
    // `known`: the list of the run could be read. `compared_hash`: the list that an agreeing one was compared with.
    `create unlogged table farewatch_replay.run (
       list text, position integer, run_id bigint, valid_at timestamptz, arrived_at timestamptz, content_hash text, bytes bigint,
       baseline boolean, confirmations integer, place_confirmations integer, lists integer, compared_hash text, compared_bytes bigint,
       known boolean not null default false,
       primary key (list, position), unique (list, valid_at) include (position))`,
    // Where each list held a route; until is null while the last list that was read holds it.
    `create unlogged table farewatch_replay.presence (
       list text, departure_id text, destination_id text, first integer, until integer)`,
    // Absences that count once although their run accepted several agreeing lists.
    `create unlogged table farewatch_replay.single_absence (
       list text, position integer, departure_id text, destination_id text,
       primary key (list, position, departure_id, destination_id))`,
    `create unlogged table farewatch_replay.place (
       place_id text, iata text, city text, country text, first integer, until integer)`,
    // Attributes that a place has in this many of the last lists, and that are not confirmed.
    `create unlogged table farewatch_replay.new_attributes (
       place_id text primary key, iata text, city text, country text, lists integer)`,
    // `first` is where the difference begins; `rank` orders differences of one run.
    `create unlogged table farewatch_replay.difference (
       valid_at timestamptz, rank integer, run_id bigint, subject jsonb, field text, replayed jsonb, stored jsonb)`,
  ]
  for (const statement of statements) await sql.raw(statement).execute(db)
}

export async function dropReplaySchema(db: Db): Promise<void> {
  await sql`drop schema if exists farewatch_replay cascade`.execute(db)
}
