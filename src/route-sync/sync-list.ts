import { AppError, messageOf } from '../base/errors.ts'
import { cleanText } from '../base/text.ts'
import { withSessionLock } from '../db/session-lock.ts'
import { inTransaction } from '../db/transaction.ts'
import { closeRun, findLastAccepted, noteFetched, openRun } from './run-records.ts'
import { type SyncDeps, type SyncRun, settleSnapshot } from './settle-snapshot.ts'
import { createStopwatch } from './stopwatch.ts'
import type { SyncOutcome, SyncReason, SyncRequest } from './sync-run.ts'
import { hasRunOfSlot } from './sync-run-queries.ts'

/**
 * Pulls one list and applies it, holds it or rejects it, as a whole. Returns undefined where another process is
 * at the same list, and where the slot has had its run.
 *
 * fetch, then in one transaction: stage, diff, guard, apply, append, record the run. The network call happens
 * before the transaction opens. Safe to run twice: the second run meets the bytes of the first. A process that
 * dies leaves nothing behind but a run without an end, which the next one closes.
 */
export async function syncList(
  deps: SyncDeps,
  request: SyncRequest,
  signal: AbortSignal,
): Promise<SyncOutcome | undefined> {
  const { list, slot } = request
  return withSessionLock(deps.db, `route-sync:${list}`, async (session) => {
    // A job that is carried out again after its run was committed would count as one more list.
    if (slot !== undefined && (await hasRunOfSlot(session, slot))) return undefined
    const run = { runId: await openRun(session, request), list, stopwatch: createStopwatch() }
    try {
      return await pull({ ...deps, db: session }, run, signal)
    } catch (err) {
      const end = { ...run, ...endOf(err), durationsMs: run.stopwatch.durations() }
      // Where the record cannot be written either, the next run closes this one; the first error is the one to tell.
      const outcome = await closeRun(session, end).catch(() => undefined)
      if (outcome !== undefined && (err instanceof AppError || signal.aborted)) return outcome
      throw err
    }
  })
}

async function pull(deps: SyncDeps, run: SyncRun, signal: AbortSignal): Promise<SyncOutcome> {
  if (run.list === 'with-availability' && (await findLastAccepted(deps.db, 'routes')) === null) {
    throw new NoRoutesYetError()
  }
  const body = await run.stopwatch.time('fetch', () =>
    deps.upstream.fetchRouteList(run.list, {
      signal,
      onProgress: (bytes) => deps.onProgress?.({ bytes, routes: 0 }),
    }),
  )
  await noteFetched(deps.db, run.runId, body)
  return inTransaction(deps.db, (tx) => settleSnapshot(tx, deps, run, body))
}

/** with-availability speaks of routes: without any it would only count strangers. */
export class NoRoutesYetError extends AppError {
  override readonly name = 'NoRoutesYetError'
  override readonly code = 'sync.no_routes_yet'
  override readonly retryable = false

  constructor() {
    super('there are no routes yet: sync the routes list first')
  }
}

/** No answer, or trouble of our own, is a failed run; an answer that is not a list is a rejected one. */
const NO_ANSWER = new Set(['upstream.timeout', 'upstream.network'])

function endOf(err: unknown): { status: 'failed' | 'rejected'; reason: SyncReason } {
  const text = cleanText(messageOf(err))
  if (!(err instanceof AppError)) return { status: 'failed', reason: { code: 'internal', text } }
  const status = NO_ANSWER.has(err.code) ? 'failed' : 'rejected'
  return { status, reason: { code: err.code, text, retryable: err.retryable } }
}
