import type { Clock } from '../../platform/base/clock.ts'
import type { RouteListName } from '../../platform/base/kinds.ts'
import { type Db, sql, type Tx } from '../../platform/db/database.ts'
import { withSessionLock } from '../../platform/db/session-lock.ts'
import { inTransaction } from '../../platform/db/transaction.ts'
import { beginApply, planSnapshot, type SyncDeps } from '../plan/plan-snapshot.ts'
import {
  assignValidTime,
  closeRun,
  createStopwatch,
  dropHeldRuns,
  LIST_WAIT_MS,
  listBusyError,
  listLock,
  WRITTEN_NOW,
} from '../runs/run-records.ts'
import { NotHeldError, RunNotFoundError, StaleRunError } from '../runs/sync-errors.ts'
import type { SyncOutcome } from '../runs/sync-run.ts'
import { findFinishedRun, findLastAccepted, type SyncRunRow } from '../runs/sync-run-queries.ts'
import { type FetchedList, listOfRun } from '../snapshots/fetched-list.ts'
import { touchSnapshot } from '../snapshots/snapshots.ts'

type DecideDeps = Pick<SyncDeps, 'db' | 'scrub' | 'onProgress'> & { readonly clock: Clock }

/** An approved list confirms absences at once: an operator has reviewed them. */
const CONFIRMATIONS = 1
const LIST_ORDER: readonly RouteListName[] = ['routes', 'with-availability']
const POLL_MS = 250

/** The held run; throws RunNotFoundError, NotHeldError. */
export async function findHeldRun(db: Db, runId: number): Promise<SyncRunRow> {
  const run = await findFinishedRun(db, runId)
  if (run === undefined) throw new RunNotFoundError(runId)
  if (run.status !== 'held') throw new NotHeldError(runId, run.status)
  return run
}

/** Approves one held run; see `approveRuns`. */
export async function approveRun(
  deps: DecideDeps,
  runId: number,
  signal: AbortSignal,
): Promise<SyncOutcome> {
  const [outcome] = await approveRuns(deps, [runId], signal)
  if (outcome === undefined) throw new RunNotFoundError(runId)
  return outcome
}

/**
 * Applies held lists as they were fetched, at most one of each list and both of one pull, with the moment of the
 * approval as their valid time: what was published about the time before stays true. Routes that they lack are
 * removed at once. The other held runs of these lists are dropped, because they were judged against a state that no
 * longer holds.
 *
 * One transaction under the locks of the lists: if one list cannot be applied, or the process dies, all runs stay
 * held. Returns the outcomes, routes first. Throws RunNotFoundError, NotHeldError, StaleRunError,
 * SnapshotNotKeptError, SnapshotDamagedError.
 */
async function approveRuns(
  deps: DecideDeps,
  runIds: readonly number[],
  signal: AbortSignal,
): Promise<SyncOutcome[]> {
  const runs = await Promise.all(runIds.map((runId) => findHeldRun(deps.db, runId)))
  // Routes first, because availability is that of routes. All who need both locks take them in this order.
  const ordered = runs.toSorted((a, b) => LIST_ORDER.indexOf(a.list) - LIST_ORDER.indexOf(b.list))
  const lists = ordered.map(({ list }) => list)
  return whenListsAreFree(deps, { lists, signal }, async (session) => {
    const held: Omit<HeldList, 'withRoutes'>[] = []
    for (const { runId } of ordered) {
      const fetched = listOfRun(await findHeldRun(session, runId))
      // A list of a million routes takes seconds to load: not while the transaction holds its locks.
      await fetched.chunks(session)
      held.push({ runId, fetched })
    }
    return inTransaction(session, async (tx) => {
      await beginApply(tx)
      const outcomes: SyncOutcome[] = []
      for (const list of held) {
        outcomes.push(await applyHeld(tx, deps, { ...list, withRoutes: outcomes.length > 0 }))
        // The next list is staged in tables of the same names.
        await sql`discard temp`.execute(tx)
      }
      return outcomes
    })
  })
}

interface HeldList {
  readonly runId: number
  readonly fetched: FetchedList
  /** Whether the routes list of the same pull was applied just before. */
  readonly withRoutes: boolean
}

async function applyHeld(
  tx: Tx,
  deps: DecideDeps,
  { runId, fetched, withRoutes }: HeldList,
): Promise<SyncOutcome> {
  const stopwatch = createStopwatch()
  const { list, fetchedAt, reason, reviewId } = await findHeldRun(tx, runId)
  const previous = await findLastAccepted(tx, list)
  if (previous !== null && (fetchedAt === null || previous.fetchedAt > fetchedAt)) {
    throw new StaleRunError(runId, previous.id)
  }
  const instants = await assignValidTime(tx, runId, sql`clock_timestamp()`)
  const args = { list, fetched, previous, stopwatch, confirmations: CONFIRMATIONS, ...instants }
  // The list says nothing about routes that were added after its arrival, unless they are those of its own pull.
  const arrivedAt = withRoutes ? null : instants.arrivedAt
  const plan = await planSnapshot(tx, deps, { ...args, arrivedAt })
  const previousAt = previous?.arrivedAt ?? null
  const counts = await stopwatch.time('apply', () =>
    plan.apply({ ...args, runId, previousAt, lists: 1 }),
  )
  const outcome = await closeRun(tx, {
    runId,
    list,
    status: 'approved',
    baseline: previous === null,
    reason,
    reviewId,
    confirmations: CONFIRMATIONS,
    counts: { ...plan.staged, ...counts },
    durationsMs: stopwatch.durations(),
  })
  await tx
    .updateTable('sync_run')
    .set({ ...WRITTEN_NOW, resolution: 'approved', resolved_at: sql`clock_timestamp()` })
    .where('id', '=', runId)
    .execute()
  await dropHeldRuns(tx, { list, resolution: 'superseded', resolvedBy: runId })
  await touchSnapshot(tx, fetched.contentHash)
  return outcome
}

/**
 * Drops a held run and all others of its review, under the list's lock; nothing else changes. Returns the runs. The
 * same list again joins the review, which then only an operator can approve.
 *
 * Throws RunNotFoundError, NotHeldError.
 */
export async function rejectRun(
  deps: Pick<DecideDeps, 'db' | 'clock'>,
  runId: number,
  signal: AbortSignal,
): Promise<number[]> {
  const { list } = await findHeldRun(deps.db, runId)
  return whenListIsFree(deps, { list, signal }, (session) =>
    inTransaction(session, async (tx) => {
      const { reviewId } = await findHeldRun(tx, runId)
      const dropping = { list, resolution: 'rejected', resolvedBy: null } as const
      return dropHeldRuns(tx, { ...dropping, reviewId: reviewId ?? runId })
    }),
  )
}

/** Runs `work` once no other session holds the locks of the lists, which are taken in the given order. */
function whenListsAreFree<T extends object>(
  deps: Pick<DecideDeps, 'db' | 'clock'>,
  { lists, signal }: { readonly lists: readonly RouteListName[]; readonly signal: AbortSignal },
  work: (session: Db) => Promise<T>,
): Promise<T> {
  const [list, ...others] = lists
  if (list === undefined) return work(deps.db)
  return whenListIsFree(deps, { list, signal }, (session) =>
    whenListsAreFree({ ...deps, db: session }, { lists: others, signal }, work),
  )
}

/**
 * Runs `work` once no other session holds the list's lock. Throws the signal's reason if it aborts before, and
 * ListBusyError if the lock is held for too long.
 */
async function whenListIsFree<T extends object>(
  { db, clock }: Pick<DecideDeps, 'db' | 'clock'>,
  { list, signal }: { readonly list: RouteListName; readonly signal: AbortSignal },
  work: (session: Db) => Promise<T>,
): Promise<T> {
  const givesUpAt = clock.now().getTime() + LIST_WAIT_MS
  for (;;) {
    const done = await withSessionLock(db, listLock(list), work)
    if (done !== undefined) return done
    if (clock.now().getTime() >= givesUpAt) throw await listBusyError(db, list)
    await clock.sleep(POLL_MS, signal)
  }
}

/** The other held list of one pull. */
interface PairedRun {
  readonly runId: number
  readonly list: RouteListName
}

/**
 * The held run of the other list that belongs to the same pull: it arrived within an hour, no other run of its list
 * arrived nearer to this one, and no other run of this list arrived nearer to it. Null if there is none, if its
 * list is empty, or if an operator has rejected its review: such a list is approved by its own number only.
 */
export async function findPaired(db: Db, runId: number): Promise<PairedRun | null> {
  const { rows } = await sql<PairedRun>`
    with arrived as (
           select id, list, status, reason_code, review_id, coalesce(arrived_at, fetched_at) as at
             from sync_run
            where coalesce(arrived_at, fetched_at) is not null),
         pair as (
           select r.id as run_id, o.id as other_id, o.list, abs(extract(epoch from o.at - r.at)) as apart
             from arrived r
             join arrived o on o.list <> r.list and abs(extract(epoch from o.at - r.at)) <= 3600)
    select p.other_id as "runId", p.list
      from pair p
      join arrived o on o.id = p.other_id
     where p.run_id = ${runId} and o.status = 'held' and o.reason_code <> 'empty'
       and not exists (select from sync_run j where j.review_id = o.review_id and j.resolution = 'rejected')
       and not exists (select from pair n where n.run_id = p.run_id and (n.apart, n.other_id) < (p.apart, p.other_id))
       and not exists (select from pair n where n.run_id = p.other_id and (n.apart, n.other_id) < (p.apart, p.run_id))
  `.execute(db)
  return rows[0] ?? null
}

/**
 * Approves a held run and the held run of the other list of its pull, in one transaction: if one of them cannot be
 * applied, both stay held. Throws the errors of `approveRuns`.
 */
export async function approvePull(
  deps: DecideDeps,
  runId: number,
  signal: AbortSignal,
): Promise<{ readonly outcome: SyncOutcome; readonly paired: SyncOutcome | null }> {
  const other = await findPaired(deps.db, runId)
  const outcomes = await approveRuns(deps, other === null ? [runId] : [runId, other.runId], signal)
  const outcome = outcomes.find((approved) => approved.runId === runId)
  if (outcome === undefined) throw new RunNotFoundError(runId)
  return { outcome, paired: outcomes.find((approved) => approved !== outcome) ?? null }
}
