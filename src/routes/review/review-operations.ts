import { Type } from 'typebox'
import type { Clock } from '../../platform/base/clock.ts'
import type { Logger } from '../../platform/base/logger.ts'
import { recordAction } from '../../platform/db/audit.ts'
import { sql } from '../../platform/db/database.ts'
import { logOperation, operations } from '../../platform/http/operation.ts'
import { cursorsOf, pageOf, pageParameters } from '../../platform/http/pages.ts'
import { ProblemError } from '../../platform/http/problems.ts'
import { Instant, object, orNull, RowId } from '../../platform/http/schemas.ts'
import { destinations, readDestinations } from '../read/network-operations.ts'
import { Place, Route } from '../read/route-operations.ts'
import { ListName, Reason, RunParams, SyncRun } from '../read/sync-run-operations.ts'
import { RunNotFoundError } from '../runs/sync-errors.ts'
import { findFinishedRun, listHeldRuns } from '../runs/sync-run-queries.ts'
import { listOfRun } from '../snapshots/fetched-list.ts'
import { approvePull, approveRun, findHeldRun, rejectRun } from './decide-run.ts'
import { type ReviewDeps, reviewRun, withPlan } from './report-plan.ts'

interface HeldRunDeps extends Pick<ReviewDeps, 'db' | 'scrub' | 'guard'> {
  readonly clock: Clock
  readonly log: Logger
}

const { operator } = operations<HeldRunDeps>()

/** A running sync holds the lock for longer than a client waits. This is enough to wait for another decision. */
const WAIT_MS = 2_000
const RETRY_AFTER_SECONDS = 10

const cursors = cursorsOf('held-runs', RowId)

const Count = Type.Integer()
const SomeRoutes = Type.Array(Route)

const members = {
  list: ListName,
  baseline: Type.Boolean(),
  bytes: Count,
  fetched: Type.Integer({ description: 'Routes in the list, duplicates included.' }),
  duplicates: Count,
  conflictingPlaces: Count,
  liveBefore: Type.Integer({
    description: 'Live routes before the list; available routes for with-availability.',
  }),
  missing: Type.Integer({ description: 'How many of these the list lacks.' }),
  newlyAbsent: Type.Integer({
    description: 'How many of the missing ones the previous accepted list had.',
  }),
  forecast: object(
    {
      unknownPairs: orNull(Count),
      live: Count,
      added: Count,
      removed: Count,
      pendingAbsences: Count,
      placesChanged: Count,
      gained: Count,
      lost: Count,
    },
    { description: 'The counts of the run if it were approved now.' },
  ),
  verdict: orNull(Reason, 'Why the guard would hold the list now. Null if it would not.'),
  examples: object(
    {
      missing: SomeRoutes,
      added: SomeRoutes,
      countries: Type.Array(object({ country: Type.String(), missing: Count, live: Count }), {
        description: 'The countries of departure with the most missing routes.',
      }),
      placesLost: object(
        { count: Count, places: Type.Array(Place) },
        { description: 'Places that would have no route left.' },
      ),
      placesChanged: Type.Array(object({ before: Place, after: Place })),
    },
    { description: 'A few examples of each kind. Routes are a sample, the same in each report.' },
  ),
}

/** What applying a list would do. */
const PlanReport = object(members, { title: 'PlanReport' })

const common = { tag: 'Operators', scope: 'operate' } as const
const listHeld = operator({
  ...common,
  id: 'listHeldRuns',
  method: 'GET',
  path: '/api/v1/held-runs',
  summary: 'List the held runs, oldest first',
  query: object(pageParameters({ preset: 50, max: 1000 })),
  answer: { about: 'A page of held runs.', schema: pageOf(SyncRun) },
  problems: ['request.invalid_cursor'],
  handler: async ({ db }, { query: { limit, cursor } }) => {
    const after = cursors.read(cursor, null)
    const runs = await listHeldRuns(db, { after, limit: limit + 1 })
    return cursors.page(runs, { limit, bound: null, positionOf: ({ runId }) => runId })
  },
})

const HeldRunReview = object(
  {
    run: SyncRun,
    heldWith: Type.Array(RowId, {
      description: 'All held runs of the same review, including this one.',
    }),
    rejected: orNull(
      object({ runs: Type.Array(RowId), at: Instant }),
      'The runs of this review that an operator has already rejected, and when that last happened.',
    ),
    plan: PlanReport,
    pairedWith: orNull(
      RowId,
      'The held run of the other list of the same pull. Approving one of the two approves both.',
    ),
  },
  { title: 'HeldRunReview' },
)

const reviewHeld = operator({
  ...common,
  id: 'reviewHeldRun',
  method: 'GET',
  path: '/api/v1/held-runs/{runId}',
  summary: 'Read why a run is held and what approving it would do now',
  description: 'Reads the whole stored list and changes nothing.',
  params: RunParams,
  answer: { about: 'The review.', schema: HeldRunReview },
  problems: ['sync.run_not_found', 'sync.not_held', 'sync.snapshot_gone', 'sync.snapshot_damaged'],
  example: { params: { runId: '4' } },
  handler: (deps, { params: { runId } }) => reviewRun(deps, runId),
})

const differenceOfHeld = operator({
  ...common,
  id: 'readHeldRunDifference',
  method: 'GET',
  path: '/api/v1/held-runs/{runId}/difference',
  summary: 'Read every route that approving a held run would change',
  description: 'For a map. Reads the whole stored list and changes nothing.',
  params: RunParams,
  answer: {
    about: 'The destinations of each departure, all as place ids.',
    schema: object(
      {
        missing: destinations(
          'Live routes that the list lacks; available routes for with-availability.',
        ),
        added: destinations('New routes; routes that become available for with-availability.'),
      },
      { title: 'HeldRunDifference' },
    ),
  },
  problems: ['sync.run_not_found', 'sync.not_held', 'sync.snapshot_gone', 'sync.snapshot_damaged'],
  example: { params: { runId: '4' } },
  handler: (deps, { params: { runId } }) => readRunDifference(deps, runId),
})

const approveHeld = operator({
  ...common,
  id: 'approveHeldRun',
  method: 'POST',
  path: '/api/v1/held-runs/{runId}/approve',
  summary: 'Approve a held run and apply its list',
  description:
    'The changes are dated at the time of the approval. Routes that the list lacks are removed without a second confirmation. The other held runs of the list are dropped. If the other list of the same pull is held too, it is approved as well, routes first; an empty list and one that was rejected are not.',
  params: RunParams,
  query: object({
    only: Type.Optional(
      Type.Boolean({ description: 'Approve this run alone, without the other list of its pull.' }),
    ),
  }),
  answer: {
    about: 'The approved run. The approved run of the other list has its own record.',
    schema: SyncRun,
  },
  problems: [
    'sync.run_not_found',
    'sync.not_held',
    'sync.stale_run',
    'sync.snapshot_gone',
    'sync.snapshot_damaged',
    'sync.busy',
  ],
  example: { params: { runId: '4' } },
  handler: async (deps, { params: { runId }, query: { only }, caller, request }) => {
    const approve = only === true ? approveRun : approvePull
    await withBusyTimeout<unknown>((signal) => approve(deps, runId, signal))
    logOperation(deps.log, { caller, request }, { event: 'held run approved', runId })
    await recordAction(deps.db, {
      by: caller.limitKey,
      action: 'held run approved',
      target: `run ${runId}`,
    })
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
  summary: 'Reject a held run and the held runs that agree with it',
  description:
    'Nothing else changes. If the same list is fetched again, it joins the review without a new alert.',
  params: RunParams,
  answer: {
    about: 'The dropped runs.',
    schema: object({ dropped: Type.Array(RowId) }),
  },
  problems: ['sync.run_not_found', 'sync.not_held', 'sync.busy'],
  example: { params: { runId: '4' } },
  handler: async (deps, { params: { runId }, caller, request }) => {
    const dropped = await withBusyTimeout((signal) => rejectRun(deps, runId, signal))
    logOperation(deps.log, { caller, request }, { event: 'held run rejected', runId, dropped })
    await recordAction(deps.db, {
      by: caller.limitKey,
      action: 'held run rejected',
      target: `run ${runId}`,
    })
    return { dropped }
  },
})

/** The endpoints of held runs and the decisions about them. */
export const REVIEW_OPERATIONS = [listHeld, reviewHeld, differenceOfHeld, approveHeld, rejectHeld]

/** Runs work that needs the lock of the list. Answers `sync.busy` if the lock is not free within two seconds. */
async function withBusyTimeout<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const signal = AbortSignal.timeout(WAIT_MS)
  try {
    return await work(signal)
  } catch (err) {
    if (!signal.aborted || !(err instanceof Error) || err.name !== 'AbortError') throw err
    throw new ProblemError('sync.busy', {
      headers: { 'retry-after': String(RETRY_AFTER_SECONDS) },
      detail: 'a run of the list is in progress, or another operator is deciding about it',
    })
  }
}

/** Reads all routes in which a held list differs from the present state. Throws the errors of `approveRun`. */
async function readRunDifference(deps: ReviewDeps, runId: number) {
  const run = await findHeldRun(deps.db, runId)
  const { list, arrivedAt } = run
  const added = list === 'routes' ? sql`snapshot_added` : sql`snapshot_gained`
  const args = { list, fetched: listOfRun(run), arrivedAt, confirmations: 1 }
  return withPlan(deps, args, async (tx) => ({
    missing: await readDestinations(tx, sql`snapshot_missing`),
    added: await readDestinations(tx, added),
  }))
}
