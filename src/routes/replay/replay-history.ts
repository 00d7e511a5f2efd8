import { AppError } from '../../platform/base/errors.ts'
import type { RouteListName } from '../../platform/base/kinds.ts'
import { type Db, sql } from '../../platform/db/database.ts'
import { findLockHolder, withSessionLock } from '../../platform/db/session-lock.ts'
import { inTransaction, selectOne } from '../../platform/db/transaction.ts'
import { comparePlaces } from './compare-places.ts'
import { compareAvailability, compareRoutes } from './compare-routes.ts'
import { type ListDeps, numberRuns, readLists } from './replay-lists.ts'
import { createReplaySchema, dropReplaySchema } from './replay-schema.ts'

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
