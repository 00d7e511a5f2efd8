import { AppError } from '../../platform/base/errors.ts'
import type { RouteListName } from '../../platform/base/kinds.ts'
import { type Db, type RawBuilder, sql, type Tx } from '../../platform/db/database.ts'
import { readHistoryFloor } from '../../platform/db/history-floor.ts'
import { findLockHolder, withSessionLock } from '../../platform/db/session-lock.ts'
import { FEED_DIFFERENCES } from './feed-differences.ts'
import { HISTORY_DIFFERENCES, placeIntervals } from './history-differences.ts'
import { type ListDeps, numberRuns, type OnRun, readLists } from './read-lists.ts'

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

/** One way in which a history or a feed differs. */
export interface HistoryDifference {
  readonly kind: string
  /** The run from which on it differs; null if it belongs to no run. */
  readonly runId: number | null
  /** Null for a number of a feed. */
  readonly at: Date | null
  /** The ids of a route, of a place, or of a record. */
  readonly subject: Readonly<Record<string, string>>
  readonly field: string
  readonly replayed: unknown
  readonly stored: unknown
}

export interface ReplayResult {
  readonly equal: boolean
  readonly lists: readonly ReplayedList[]
  /** The histories before it are archived, and not compared; null if nothing was archived. */
  readonly floor: Date | null
  readonly differences: number
  /** How many there are of each kind that there is. */
  readonly kinds: Readonly<Record<string, number>>
  /** The earliest difference; null if there is none. */
  readonly first: HistoryDifference | null
  /** The differences by time: all, or the first of each kind. */
  readonly all: readonly HistoryDifference[]
}

interface ReplayOptions {
  readonly signal: AbortSignal
  readonly onRun?: OnRun
  /** How many differences of each kind are returned; null: all. All are counted. */
  readonly most?: number | null
}

export interface ReplayDeps extends ListDeps {
  readonly db: Db
}

/**
 * Compares the histories of routes, places and availability with the accepted lists that are kept, and the feeds
 * with the histories. The rules are written a second time here, as one query for each kind of difference.
 *
 * All is read in one transaction, which sees one state of the database; it writes temporary tables alone and blocks
 * no sync. Throws CannotReplayError.
 */
export async function replayHistory(
  { db, scrub, confirmations }: ReplayDeps,
  { signal, onRun = () => undefined, most = null }: ReplayOptions,
): Promise<ReplayResult> {
  const result = await withSessionLock(db, LOCK, (session) =>
    session
      .transaction()
      .setIsolationLevel('repeatable read')
      .execute(async (tx) => {
        await sql`set local statement_timeout = '15min'`.execute(tx)
        await sql`set local work_mem = '64MB'`.execute(tx)
        await numberRuns(tx, confirmations)
        await readLists(tx, scrub, { signal, onRun })
        const lists = await findCompared(tx)
        return resultOf(lists, await readHistoryFloor(tx), await findDifferences(tx, most))
      }),
  )
  if (result === undefined) {
    throw new CannotReplayError(
      `another replay runs: its lock is ${await findLockHolder(db, LOCK)}`,
    )
  }
  return result
}

async function findCompared(tx: Tx): Promise<readonly ReplayedList[]> {
  const { rows } = await sql<ReplayedList>`
    select list, min(at) filter (where known) as since, max(at) filter (where known) as until,
           count(*) as runs, count(*) filter (where known) as compared
      from replay_run
     group by list
    having bool_or(known)
     order by list
  `.execute(tx)
  if (rows[0]?.list === 'routes') return rows
  throw new CannotReplayError('no accepted list of the routes is kept')
}

interface Counted extends HistoryDifference {
  /** How many there are of its kind. */
  readonly total: number
}

async function findDifferences(tx: Tx, most: number | null): Promise<Counted[]> {
  const ofFeeds = await findEach(tx, FEED_DIFFERENCES, most)
  await placeIntervals(tx)
  return [...(await findEach(tx, HISTORY_DIFFERENCES, most)), ...ofFeeds]
}

async function findEach(
  tx: Tx,
  queries: Readonly<Record<string, RawBuilder<unknown>>>,
  most: number | null,
): Promise<Counted[]> {
  const found: Counted[][] = []
  for (const [kind, query] of Object.entries(queries)) {
    const { rows } = await sql<Counted>`
      select ${kind} as kind, run_id as "runId", at, subject, field, replayed, stored, count(*) over () as total
        from (${query}) d
       order by at, subject::text, field
       limit ${most}
    `.execute(tx)
    found.push(rows)
  }
  return found.flat()
}

function resultOf(
  lists: readonly ReplayedList[],
  floor: Date | null,
  found: readonly Counted[],
): ReplayResult {
  const timeOf = ({ at }: HistoryDifference) => at?.getTime() ?? Number.POSITIVE_INFINITY
  const kinds = Object.fromEntries(found.map(({ kind, total }) => [kind, total]))
  const all = found
    .toSorted((a, b) => (timeOf(a) < timeOf(b) ? -1 : timeOf(a) > timeOf(b) ? 1 : 0))
    .map(({ total: _, ...difference }) => difference)
  return {
    equal: all.length === 0,
    lists,
    floor,
    differences: Object.values(kinds).reduce((sum, count) => sum + count, 0),
    kinds,
    first: all[0] ?? null,
    all,
  }
}
