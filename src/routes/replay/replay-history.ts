import { AppError } from '../../platform/base/errors.ts'
import type { RouteListName } from '../../platform/base/kinds.ts'
import { type Db, sql } from '../../platform/db/database.ts'
import { findLockHolder, withSessionLock } from '../../platform/db/session-lock.ts'
import { inTransaction, selectOne } from '../../platform/db/transaction.ts'
import { comparePlaces } from './compare-places.ts'
import { compareAvailability, compareRoutes } from './compare-routes.ts'
import { type ListDeps, numberRuns, readLists } from './replay-lists.ts'

const LOCK = 'replay'

/** No accepted list of the routes is kept, or another replay runs. */
export class CannotReplayError extends AppError {
  override readonly name = 'CannotReplayError'
  override readonly code = 'sync.cannot_replay'
  override readonly retryable = false
}

/** How far a replay reached back for one list. */
export interface ReplayedList {
  readonly list: RouteListName
  /** The valid times of the oldest and the newest run that was compared. */
  readonly since: Date
  readonly until: Date
  /** Accepted runs since then, and those whose list could be read. */
  readonly runs: number
  readonly compared: number
}

/** The first way in which a route or a place differs. */
export interface HistoryDifference {
  /** The run from which on it differs; null if the stored instant belongs to no run. */
  readonly runId: number | null
  readonly at: Date
  /** The ids of a route, or of a place. */
  readonly subject: Readonly<Record<string, string>>
  readonly field: string
  readonly replayed: unknown
  readonly stored: unknown
}

export interface ReplayResult {
  readonly equal: boolean
  readonly lists: readonly ReplayedList[]
  readonly differences: number
  /** The earliest difference; null if there is none. */
  readonly first: HistoryDifference | null
}

export interface ReplayOptions {
  readonly signal: AbortSignal
  readonly onProgress?: (progress: { readonly list: RouteListName; readonly runs: number }) => void
}

/**
 * Rebuilds the history of routes from the accepted lists that are kept, in the schema `farewatch_replay`, and compares it with
 * the stored intervals at the valid time of each of these lists. The reader of lists is the one of a sync. All that decides
 * intervals is written a second time, from the definition: gaps in the presence of a route instead of counters.
 *
 * Writes nothing to the live tables and blocks no sync: what is compared are answers for past instants, which do not change.
 * A killed replay leaves its schema to the next one. Throws CannotReplayError.
 */
export async function replayHistory(
  deps: ListDeps,
  { signal, onProgress }: ReplayOptions,
): Promise<ReplayResult> {
  const result = await withSessionLock(deps.db, LOCK, async (session) => {
    await createReplaySchema(session)
    try {
      await rebuild({ ...deps, db: session }, { signal, ...(onProgress && { onProgress }) })
      await compare(session)
      return await readResult(session)
    } finally {
      // A lost connection leaves the schema to the next replay, and the error of the work is the one to report.
      await dropReplaySchema(session).catch(() => undefined)
    }
  })
  if (result === undefined) {
    throw new CannotReplayError(
      `another replay runs: its lock is ${await findLockHolder(deps.db, LOCK)}`,
    )
  }
  return result
}

async function rebuild(deps: ListDeps, { signal, onProgress }: ReplayOptions): Promise<void> {
  await numberRuns(deps.db, deps)
  for (const list of ['routes', 'with-availability'] as const) {
    await readLists(deps, list, { signal, onRun: (runs) => onProgress?.({ list, runs }) })
  }
}

async function compare(db: Db): Promise<void> {
  await inTransaction(db, async (tx) => {
    await sql`set local statement_timeout = '15min'`.execute(tx)
    await sql`set local work_mem = '64MB'`.execute(tx)
    const { routes, availability } = await selectOne(
      sql<{ routes: boolean; availability: boolean }>`
        select coalesce(bool_or(known) filter (where list = 'routes'), false) as routes,
               coalesce(bool_or(known) filter (where list = 'with-availability'), false) as availability
          from farewatch_replay.run
      `,
      tx,
    )
    if (!routes) throw new CannotReplayError('no accepted list of the routes is kept')
    await compareRoutes(tx)
    await comparePlaces(tx)
    if (availability) await compareAvailability(tx)
  })
}

async function readResult(db: Db): Promise<ReplayResult> {
  const { rows: lists } = await sql<ReplayedList>`
    select list, min(valid_at) filter (where known) as since, max(valid_at) filter (where known) as until,
           count(*) as runs, count(*) filter (where known) as compared
      from farewatch_replay.run
     group by list
    having bool_or(known)
     order by list
  `.execute(db)
  const { rows } = await sql<HistoryDifference & { differences: number }>`
    select valid_at as at, run_id as "runId", subject, field, replayed, stored, count(*) over () as differences
      from farewatch_replay.difference
     order by valid_at, rank, subject::text, field
     limit 1
  `.execute(db)
  const [row] = rows
  if (row === undefined) return { equal: true, lists, differences: 0, first: null }
  const { differences, ...first } = row
  return { equal: false, lists, differences, first }
}

/**
 * Drops what a killed replay left, and creates the tables of a new one. They are not logged: a crash of the server
 * empties them, and the next replay drops them.
 *
 * Positions number the accepted runs of a list, from 1. A span of positions is a half-open range.
 */
async function createReplaySchema(db: Db): Promise<void> {
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

async function dropReplaySchema(db: Db): Promise<void> {
  await sql`drop schema if exists farewatch_replay cascade`.execute(db)
}
