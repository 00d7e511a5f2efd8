import type { Clock } from '../base/clock.ts'
import { AppError, messageOf } from '../base/errors.ts'
import type { RouteListName } from '../base/kinds.ts'
import { cleanText } from '../base/text.ts'
import { withSessionLock } from '../db/session-lock.ts'
import { inTransaction } from '../db/transaction.ts'
import { waitOf } from '../upstream/upstream-errors.ts'
import { applyOrHold, type SyncRun } from './apply-or-hold.ts'
import type { SyncDeps } from './plan/plan-snapshot.ts'
import { closeRun, createStopwatch, listLock, openRun, recordArrival } from './runs/run-records.ts'
import type { SyncOutcome, SyncReason } from './runs/sync-run.ts'
import { findFinishedRun, findOpenRun, hasRunSince } from './runs/sync-run-queries.ts'
import { fetchList } from './snapshots/fetched-list.ts'

export interface SyncRequest {
  readonly list: RouteListName
  /** When the sync was due. A run that started since then has done its work, whoever requested it. */
  readonly dueAt?: Date | undefined
}

/** `busy`: another process holds the list's lock. `done`: a run since `dueAt` has done the work. */
export type SyncResult = SyncOutcome | 'busy' | 'done'

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
    if (dueAt !== undefined && (await hasRunSince(session, list, dueAt))) return 'done'
    const run = { runId: await openRun(session, list), list, stopwatch: createStopwatch() }
    return runOnce({ ...deps, db: session }, run, signal)
  })
  return result ?? 'busy'
}

const POLL_MS = 250

/** Runs a sync, or waits for the run of another process and returns its outcome. */
export async function runOrAwait(
  deps: SyncDeps & { readonly clock: Clock },
  list: RouteListName,
  signal: AbortSignal,
): Promise<{ outcome: SyncOutcome; joined: boolean }> {
  let other: Awaited<ReturnType<typeof findOpenRun>>
  for (;;) {
    const finished = other === undefined ? undefined : await findFinishedRun(deps.db, other.runId)
    if (finished !== undefined) return { outcome: finished, joined: true }

    // The other run may have ended since it was queried, and released the lock.
    const own = await syncList(deps, { list, dueAt: other?.startedAt }, signal)
    if (typeof own !== 'string') return { outcome: own, joined: false }
    if (own === 'done') continue
    other ??= await findOpenRun(deps.db, list)
    await deps.clock.sleep(POLL_MS, signal)
  }
}

async function runOnce(deps: SyncDeps, run: SyncRun, signal: AbortSignal): Promise<SyncOutcome> {
  try {
    const { arrival, fetched } = await fetchList(deps, run, signal)
    await recordArrival(deps.db, run.runId, arrival)
    return await inTransaction(deps.db, (tx) => applyOrHold(tx, deps, run, fetched))
  } catch (err) {
    const end = { ...run, ...endOf(err, signal), durationsMs: run.stopwatch.durations() }
    // If this write fails too, the next run closes the run; the first error is the one to report.
    const outcome = await closeRun(deps.db, end).catch(() => undefined)
    if (outcome !== undefined && (err instanceof AppError || signal.aborted)) return outcome
    throw err
  }
}

/** Upstream errors without a usable answer. They fail the run; all other upstream errors reject the list. */
const NO_ANSWER = new Set(['upstream.timeout', 'upstream.network', 'upstream.circuit_open'])

function endOf(
  err: unknown,
  signal: AbortSignal,
): { status: 'failed' | 'rejected'; reason: SyncReason } {
  const text = cleanText(messageOf(err))
  if (signal.aborted) {
    return { status: 'failed', reason: { code: 'interrupted', text, retryable: true } }
  }
  if (!(err instanceof AppError)) return { status: 'failed', reason: { code: 'internal', text } }
  const answered = err.code.startsWith('upstream.') && !NO_ANSWER.has(err.code)
  const wait = waitOf(err)
  const { code, retryable } = err
  const reason = { code, text, retryable, ...(wait === undefined ? {} : { wait }) }
  return { status: answered ? 'rejected' : 'failed', reason }
}
