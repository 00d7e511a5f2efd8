import { AppError, messageOf } from '../base/errors.ts'
import { cleanText } from '../base/text.ts'
import { withSessionLock } from '../db/session-lock.ts'
import { inTransaction } from '../db/transaction.ts'
import { waitOf } from '../upstream/upstream-errors.ts'
import { applyOrHold, type SyncDeps, type SyncRun } from './apply-or-hold.ts'
import { listLock } from './runs/list-lock.ts'
import {
  type AcceptedRun,
  type Arrival,
  closeRun,
  findLastAccepted,
  openRun,
  recordArrival,
} from './runs/run-records.ts'
import { createStopwatch } from './runs/stopwatch.ts'
import type { SyncOutcome, SyncReason, SyncRequest } from './runs/sync-run.ts'
import { hasRunSince } from './runs/sync-run-queries.ts'
import { type FetchedList, listOfBody, listOfRun } from './snapshots/fetched-list.ts'
import { hasSnapshot } from './snapshots/snapshots.ts'

/** What came of a request: a run, or none, because another process is at the list or its work was done already. */
export type SyncResult = SyncOutcome | 'busy' | 'done'

/**
 * Pulls one list and applies it, holds it or rejects it, as a whole.
 *
 * fetch, then in one transaction: stage, diff, guard, apply, append, record the run. The network call happens
 * before the transaction opens. Safe to run twice: the second run meets the bytes of the first. A process that
 * dies leaves nothing behind but a run without an end, which the next one closes.
 */
export async function syncList(
  deps: SyncDeps,
  { list, dueAt }: SyncRequest,
  signal: AbortSignal,
): Promise<SyncResult> {
  const result = await withSessionLock(deps.db, listLock(list), async (session) => {
    // One more list than the schedule asked for would confirm absences that were seen once.
    if (dueAt !== undefined && (await hasRunSince(session, list, dueAt))) return 'done'
    const run = { runId: await openRun(session, list), list, stopwatch: createStopwatch() }
    return runOnce({ ...deps, db: session }, run, signal)
  })
  return result ?? 'busy'
}

async function runOnce(deps: SyncDeps, run: SyncRun, signal: AbortSignal): Promise<SyncOutcome> {
  try {
    return await pull(deps, run, signal)
  } catch (err) {
    const end = { ...run, ...endOf(err, signal), durationsMs: run.stopwatch.durations() }
    // Where the record cannot be written either, the next run closes this one; the first error is the one to tell.
    const outcome = await closeRun(deps.db, end).catch(() => undefined)
    if (outcome !== undefined && (err instanceof AppError || signal.aborted)) return outcome
    throw err
  }
}

async function pull(deps: SyncDeps, run: SyncRun, signal: AbortSignal): Promise<SyncOutcome> {
  if (run.list === 'with-availability' && (await findLastAccepted(deps.db, 'routes')) === null) {
    throw new NoRoutesYetError()
  }
  const { arrival, fetched } = await fetchList(deps, run, signal)
  await recordArrival(deps.db, run.runId, arrival)
  return inTransaction(deps.db, (tx) => applyOrHold(tx, deps, run, fetched))
}

export interface FetchedArrival {
  readonly arrival: Arrival
  readonly fetched: FetchedList
}

/**
 * Fetches a list, or learns that it is the last accepted one still. The upstream is only asked so where that one is
 * kept, for it may have to be read again.
 */
export async function fetchList(
  deps: SyncDeps,
  { list, stopwatch }: Pick<SyncRun, 'list' | 'stopwatch'>,
  signal: AbortSignal,
): Promise<FetchedArrival> {
  const previous = await findLastAccepted(deps.db, list)
  const known = previous !== null && (await hasSnapshot(deps.db, previous.contentHash))
  const validators = known ? previous : { etag: null, lastModified: null }
  const body = await stopwatch.time('fetch', () =>
    deps.upstream.fetchRouteListIfModified(list, {
      signal,
      validators,
      onProgress: (bytes) => deps.onProgress?.({ bytes, routes: 0 }),
    }),
  )
  if (body !== null) {
    return {
      arrival: { ...body, notModified: false },
      fetched: await listOfBody(deps.db, body, deps.scrub),
    }
  }
  if (previous === null) throw new Error('a list was not modified since there was none')
  return {
    arrival: notModified(previous),
    fetched: listOfRun({ ...previous, runId: previous.id }),
  }
}

function notModified({ bytes, contentHash, etag, lastModified }: AcceptedRun): Arrival {
  return { bytes, contentHash, validators: { etag, lastModified }, notModified: true }
}

/** with-availability speaks of routes: without any it would only count strangers. */
export class NoRoutesYetError extends AppError {
  override readonly name = 'NoRoutesYetError'
  override readonly code = 'sync.no_routes_yet'
  override readonly retryable = true

  constructor() {
    super('there are no routes yet: sync the routes list first')
  }
}

/** Of the upstream's errors, those without an answer: a run without one, or with trouble of our own, has failed. */
const NO_ANSWER = new Set(['upstream.timeout', 'upstream.network', 'upstream.circuit_open'])

function endOf(
  err: unknown,
  signal: AbortSignal,
): { status: 'failed' | 'rejected'; reason: SyncReason } {
  const text = cleanText(messageOf(err))
  if (signal.aborted)
    return { status: 'failed', reason: { code: 'interrupted', text, retryable: true } }
  if (!(err instanceof AppError)) return { status: 'failed', reason: { code: 'internal', text } }
  const answered = err.code.startsWith('upstream.') && !NO_ANSWER.has(err.code)
  const wait = waitOf(err)
  const reason = {
    code: err.code,
    text,
    retryable: err.retryable,
    ...(wait === undefined ? {} : { wait }),
  }
  return { status: answered ? 'rejected' : 'failed', reason }
}
