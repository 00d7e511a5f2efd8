import type { Clock } from '../platform/base/clock.ts'
import { AppError, messageOf } from '../platform/base/errors.ts'
import type { RouteListName } from '../platform/base/kinds.ts'
import { cleanText } from '../platform/base/text.ts'
import type { Db, Tx } from '../platform/db/database.ts'
import { withSessionLock } from '../platform/db/session-lock.ts'
import { inTransaction } from '../platform/db/transaction.ts'
import { waitOf } from '../upstream/upstream-errors.ts'
import { beginApply, countPending, planSnapshot, type SnapshotPlan, type SyncDeps } from './diff.ts'
import { ListFailedTwiceError } from './errors.ts'
import { endHeldList, type Judgement, judgeSnapshot, recordHeldList } from './held.ts'
import { type FetchedList, fetchList } from './list.ts'
import {
  type Arrival,
  assignValidTime,
  closeRun,
  createStopwatch,
  findFailedWith,
  findFinishedRun,
  findLastAccepted,
  findOpenRun,
  hasRunSince,
  LIST_WAIT_MS,
  listBusyError,
  listLock,
  openRun,
  recordArrival,
  type Stopwatch,
  type SyncCounts,
  type SyncOutcome,
  type SyncReason,
} from './runs.ts'
import { keepSnapshot } from './snapshots.ts'

export interface SyncRequest {
  readonly list: RouteListName
  /** When the sync was due. Any run that started since then has done its work. */
  readonly dueAt?: Date | undefined
}

/** `busy`: another process holds the list's lock. `done`: a run since `dueAt` has done the work. */
export type SyncResult =
  | { readonly kind: 'ran'; readonly outcome: SyncOutcome }
  | { readonly kind: 'busy' }
  | { readonly kind: 'done' }

/**
 * Fetches one list and applies it, holds it or rejects it, as a whole.
 *
 * The network call happens before the transaction opens, which stages the list, compares it, judges it, applies it and
 * closes the run. Safe to run twice: the second run gets the same bytes. A process that dies leaves nothing but an
 * unfinished run, which the next run closes.
 */
export async function syncList(
  deps: SyncDeps,
  { list, dueAt }: SyncRequest,
  signal: AbortSignal,
): Promise<SyncResult> {
  const result = await withSessionLock(deps.db, listLock(list), async (session) => {
    // A list that no schedule asked for would confirm absences after one check instead of two.
    if (dueAt !== undefined && (await hasRunSince(session, list, dueAt))) return DONE
    const runId = await openRun(session, list)
    const run = { runId, list, dueAt, stopwatch: createStopwatch() }
    const outcome = await runOnce({ ...deps, db: session }, run, signal)
    return { kind: 'ran', outcome } as const
  })
  return result ?? { kind: 'busy' }
}

const DONE = { kind: 'done' } as const

const POLL_MS = 250

/** Runs a sync, or waits for the run of another process and returns its outcome. Throws ListBusyError. */
export async function runOrAwait(
  deps: SyncDeps & { readonly clock: Clock },
  list: RouteListName,
  signal: AbortSignal,
): Promise<{ outcome: SyncOutcome; joined: boolean }> {
  const givesUpAt = deps.clock.now().getTime() + LIST_WAIT_MS
  let other: Awaited<ReturnType<typeof findOpenRun>>
  for (;;) {
    const finished = other === undefined ? undefined : await findFinishedRun(deps.db, other.runId)
    if (finished !== undefined) return { outcome: finished, joined: true }

    // The other run may have ended since it was queried, and released the lock.
    const own = await syncList(deps, { list, dueAt: other?.startedAt }, signal)
    if (own.kind === 'ran') return { outcome: own.outcome, joined: false }
    if (own.kind === 'done') continue
    if (deps.clock.now().getTime() >= givesUpAt) throw await listBusyError(deps.db, list)
    other ??= await findOpenRun(deps.db, list)
    await deps.clock.sleep(POLL_MS, signal)
  }
}

/** The run that a list belongs to. */
interface SyncRun extends SyncRequest {
  readonly runId: number
  readonly stopwatch: Stopwatch
}

/** How many runs for one due time may fail with one list. */
const MAX_ATTEMPTS = 2

async function runOnce(deps: SyncDeps, run: SyncRun, signal: AbortSignal): Promise<SyncOutcome> {
  try {
    const { arrival, fetched } = await fetchList(deps, run, signal)
    await recordArrival(deps.db, run.runId, arrival)
    await refuseThirdAttempt(deps.db, run, arrival)
    return await inTransaction(deps.db, (tx) => applyOrHold(tx, deps, run, fetched))
  } catch (err) {
    const end = { ...run, ...endOf(err, signal), durationsMs: run.stopwatch.durations() }
    // If this write fails too, the next run closes the run; the first error is the one to report.
    const outcome = await closeRun(deps.db, end).catch(() => undefined)
    if (outcome !== undefined && (err instanceof AppError || signal.aborted)) return outcome
    throw err
  }
}

/** A failure that the list itself causes, such as the end of the process, would happen at every attempt. */
async function refuseThirdAttempt(
  db: Db,
  { list, dueAt }: SyncRun,
  { contentHash }: Arrival,
): Promise<void> {
  if (dueAt === undefined) return
  const failed = await findFailedWith(db, { list, contentHash, since: dueAt })
  if (failed.length >= MAX_ATTEMPTS) throw new ListFailedTwiceError(failed)
}

/** Stages a list, judges it, and applies it or holds it whole, in the caller's transaction. */
async function applyOrHold(
  tx: Tx,
  deps: SyncDeps,
  run: SyncRun,
  fetched: FetchedList,
): Promise<SyncOutcome> {
  await beginApply(tx)
  const instants = await assignValidTime(tx, run.runId)
  const previous = await findLastAccepted(tx, run.list)
  const { confirmations } = deps
  const plan = await planSnapshot(tx, deps, {
    ...run,
    ...instants,
    fetched,
    previous,
    confirmations,
  })
  const judgement = await judgeSnapshot(tx, deps, { ...run, ...instants, fetched, plan })
  await keepSnapshot(tx, fetched.contentHash, () => fetched.packed())
  if (judgement.isHeld) return hold(tx, run, plan, judgement)

  const { reason, agreed, lists } = judgement
  const counts = await run.stopwatch.time('apply', () =>
    plan.apply({
      runId: run.runId,
      ...instants,
      previousAt: previous?.arrivedAt ?? null,
      confirmations,
      lists,
    }),
  )
  await endHeldList(tx, run, judgement)
  return closeRun(tx, {
    ...run,
    status: plan.effect.repeated && !hasEffect(counts) ? 'unchanged' : 'applied',
    baseline: previous === null,
    reason,
    agreed: agreed && { ...agreed, lists },
    confirmations,
    counts: { ...plan.staged, ...counts },
    durationsMs: run.stopwatch.durations(),
  })
}

async function hold(
  tx: Tx,
  run: SyncRun,
  { staged, effect, forecast }: SnapshotPlan,
  judgement: Judgement,
): Promise<SyncOutcome> {
  await recordHeldList(tx, run, judgement)
  const nothing = {
    added: 0,
    removed: 0,
    returned: 0,
    placesChanged: 0,
    gained: 0,
    lost: 0,
  }
  const outcome = await closeRun(tx, {
    ...run,
    status: 'held',
    reason: judgement.reason,
    held: { wouldAdd: forecast.added + forecast.gained, wouldRemove: effect.missing },
    counts: {
      ...staged,
      ...nothing,
      live: effect.live,
      ...(await countPending(tx, run.list)),
    },
    durationsMs: run.stopwatch.durations(),
  })
  return { ...outcome, agreeingLists: judgement.lists }
}

function hasEffect(counts: Partial<SyncCounts>): boolean {
  const { added, removed, placesChanged, gained, lost } = counts
  return [added, removed, placesChanged, gained, lost].some((count) => (count ?? 0) > 0)
}

/** Upstream errors without a usable answer. They fail the run; all other upstream errors reject the list. */
const NO_ANSWER = new Set(['upstream.timeout', 'upstream.network', 'upstream.circuit_open'])

function endOf(
  err: unknown,
  signal: AbortSignal,
): { status: 'failed' | 'rejected'; reason: SyncReason } {
  // A statement that was cancelled says nothing of who ended it.
  const text = cleanText(messageOf(signal.aborted ? signal.reason : err))
  if (signal.aborted) {
    return { status: 'failed', reason: { code: 'interrupted', text, retryable: true } }
  }
  if (!(err instanceof AppError)) return { status: 'failed', reason: { code: 'internal', text } }
  const answered =
    err instanceof ListFailedTwiceError ||
    (err.code.startsWith('upstream.') && !NO_ANSWER.has(err.code))
  const wait = waitOf(err)
  const { code, retryable } = err
  const reason = { code, text, retryable, ...(wait === undefined ? {} : { wait }) }
  return { status: answered ? 'rejected' : 'failed', reason }
}
