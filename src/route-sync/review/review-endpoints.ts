import { type Static, Type } from 'typebox'
import type { Clock } from '../../base/clock.ts'
import type { Logger } from '../../base/logger.ts'
import { logOperation } from '../../http/audit-log.ts'
import { operations } from '../../http/operation.ts'
import { cursorsOf, pageOf, pageParameters } from '../../http/pages.ts'
import { ProblemError } from '../../http/problems.ts'
import { Instant, MAX_WHOLE_NUMBER, object, orNull } from '../../http/schemas.ts'
import { RunParams, SyncRun } from '../read/sync-run-endpoints.ts'
import { RunNotFoundError } from '../runs/sync-errors.ts'
import { findFinishedRun, listHeldRuns } from '../runs/sync-run-queries.ts'
import { approveRun, rejectRun } from './decide-run.ts'
import { PlanReport } from './plan-report-endpoints.ts'
import { type Review, type ReviewDeps, reviewRun } from './report-plan.ts'

export interface HeldRunDeps extends Pick<ReviewDeps, 'db' | 'scrub' | 'guard'> {
  readonly clock: Clock
  readonly log: Logger
}

const { operator } = operations<HeldRunDeps>()

const RunId = Type.Integer({ minimum: 1, maximum: MAX_WHOLE_NUMBER })
/** A run of the list takes longer than anybody waits for an answer; most waits are for a decision beside this one. */
const WAIT_MS = 2_000
const RETRY_AFTER_SECONDS = 10

const cursors = cursorsOf('held-runs', RunId)

const common = { tag: 'Operators', scope: 'operate' } as const
const listHeld = operator({
  ...common,
  id: 'listHeldRuns',
  method: 'GET',
  path: '/api/v1/held-runs',
  summary: 'Lists that wait for a decision, the oldest first',
  query: object(pageParameters({ preset: 50, max: 1000 })),
  answer: { about: 'A page of held runs.', schema: pageOf(SyncRun) },
  problems: ['request.invalid_cursor'],
  handler: async ({ db }, { query: { limit, cursor } }) => {
    const after = cursors.read(cursor, null)
    const runs = await listHeldRuns(db, { after, limit: limit + 1 })
    return cursors.page(runs, { limit, bound: null, positionOf: ({ runId }) => runId })
  },
})

const ReviewAnswer = object({
  run: SyncRun,
  heldWith: Type.Array(RunId, {
    description: 'All that are held under the same review, it included.',
  }),
  rejected: orNull(
    object({ runs: Type.Array(RunId), at: Instant }),
    'What a person rejected of that review already, and when, the last time.',
  ),
  plan: PlanReport,
})

const reviewHeld = operator({
  ...common,
  id: 'reviewHeldRun',
  method: 'GET',
  path: '/api/v1/held-runs/{runId}',
  summary: 'What is suspicious about a held run, and what approving it would do now',
  description: 'It reads the whole list again and changes nothing.',
  params: RunParams,
  answer: { about: 'The review.', schema: ReviewAnswer },
  problems: ['sync.run_not_found', 'sync.not_held', 'sync.snapshot_gone', 'sync.snapshot_damaged'],
  example: { params: { runId: '4' } },
  handler: async (deps, { params: { runId } }) => answerOf(await reviewRun(deps, runId)),
})

const approveHeld = operator({
  ...common,
  id: 'approveHeldRun',
  method: 'POST',
  path: '/api/v1/held-runs/{runId}/approve',
  summary: 'Apply a held list as it was fetched',
  description:
    'As of when it was fetched, or just after the last list that was accepted since. What it lacks is removed at once. Other held runs of the list are dropped.',
  params: RunParams,
  answer: { about: 'The run, which is approved now.', schema: SyncRun },
  problems: [
    'sync.run_not_found',
    'sync.not_held',
    'sync.stale_run',
    'sync.snapshot_gone',
    'sync.snapshot_damaged',
    'sync.busy',
  ],
  example: { params: { runId: '4' } },
  handler: async (deps, { params: { runId }, caller, request }) => {
    await withBusyTimeout((signal) => approveRun(deps, runId, signal))
    logOperation(deps.log, { caller, request }, { event: 'held run approved', runId })
    const run = await findFinishedRun(deps.db, runId)
    if (run === undefined) throw new RunNotFoundError(runId)
    return run
  },
})

const rejectHeld = operator({
  ...common,
  id: 'rejectHeldRun',
  method: 'POST',
  path: '/api/v1/held-runs/{runId}/reject',
  summary: 'Drop a held list, and those that agree with it',
  description: 'Nothing else changes. The same list again joins the review without a new alert.',
  params: RunParams,
  answer: {
    about: 'The runs that were dropped.',
    schema: object({ dropped: Type.Array(RunId) }),
  },
  problems: ['sync.run_not_found', 'sync.not_held', 'sync.busy'],
  example: { params: { runId: '4' } },
  handler: async (deps, { params: { runId }, caller, request }) => {
    const dropped = await withBusyTimeout((signal) => rejectRun(deps, runId, signal))
    logOperation(deps.log, { caller, request }, { event: 'held run rejected', runId, dropped })
    return { dropped }
  },
})

/** What is held for review, and the decisions about it. */
export const REVIEW_OPERATIONS = [listHeld, reviewHeld, approveHeld, rejectHeld]

/** Runs work that waits for the lock of the list, within two seconds; else answers `sync.busy`. */
async function withBusyTimeout<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const signal = AbortSignal.timeout(WAIT_MS)
  try {
    return await work(signal)
  } catch (err) {
    if (!signal.aborted || !(err instanceof Error) || err.name !== 'AbortError') throw err
    throw new ProblemError('sync.busy', {
      headers: { 'retry-after': String(RETRY_AFTER_SECONDS) },
      detail: 'a run of the list is under way, or somebody else decides about it',
    })
  }
}

/** Arrays that whoever sends them may change. */
function answerOf({ run, heldWith, rejected, plan }: Review): Static<typeof ReviewAnswer> {
  const { verdict, examples } = plan
  return {
    run,
    heldWith: [...heldWith],
    rejected: rejected && { runs: [...rejected.runs], at: rejected.at },
    plan: {
      ...plan,
      verdict: verdict && { code: verdict.code, text: verdict.text },
      examples: {
        missing: [...examples.missing],
        added: [...examples.added],
        countries: [...examples.countries],
        placesLost: { ...examples.placesLost, places: [...examples.placesLost.places] },
        placesChanged: [...examples.placesChanged],
      },
    },
  }
}
