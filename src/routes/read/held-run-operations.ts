import { Type } from 'typebox'
import type { Clock } from '../../platform/base/clock.ts'
import type { Logger } from '../../platform/base/logger.ts'
import { recordOperation } from '../../platform/db/audit.ts'
import { sql } from '../../platform/db/database.ts'
import { operations } from '../../platform/http/operation.ts'
import { onlyPage, pageOf } from '../../platform/http/pages.ts'
import { ProblemError } from '../../platform/http/problems.ts'
import { Instant, instant, object, orNull, RowId } from '../../platform/http/schemas.ts'
import { RunNotFoundError } from '../errors.ts'
import { approveRun, findHeldRun, listHeldRuns, rejectRun } from '../held.ts'
import { listOfRun } from '../list.ts'
import { findFinishedRun } from '../runs.ts'
import { destinations, readDestinations } from './network-operations.ts'
import { type ReviewDeps, reviewRun, withPlan } from './plan-report.ts'
import { Place, Route } from './route-operations.ts'
import { ListName, Reason, RUN_MEMBERS, RunParams, SyncRun } from './sync-run-operations.ts'

interface HeldRunDeps extends Pick<ReviewDeps, 'db' | 'scrub' | 'guard'> {
  readonly clock: Clock
  readonly log: Logger
}

const { operator } = operations<HeldRunDeps>()

/** A running sync holds the lock for longer than a client waits. This is enough to wait for another decision. */
const WAIT_MS = 2_000
const RETRY_AFTER_SECONDS = 10

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

/** A held run. Its list has at most one. */
const HeldRun = object(
  {
    ...RUN_MEMBERS,
    lists: Type.Integer({ description: 'Lists in a row that agree, this one included.' }),
    since: instant('When the first of them was held.'),
    rejectedAt: orNull(Instant, 'When an operator rejected one of them last.'),
  },
  { title: 'HeldRun' },
)

const listHeld = operator({
  ...common,
  id: 'listHeldRuns',
  method: 'GET',
  path: '/api/v1/held-runs',
  summary: 'List the held runs, at most one of each list, oldest first',
  answer: { about: 'The held runs.', schema: pageOf(HeldRun) },
  handler: async ({ db }) => onlyPage(await listHeldRuns(db)),
})

const HeldRunReview = object(
  {
    run: HeldRun,
    lastAcceptedAt: orNull(Instant, 'When the last accepted list arrived.'),
    isLikelyReal: Type.Boolean({
      description:
        'Whether the held list is over a week younger than the last accepted one, and not empty: what changed in that time is the likely cause.',
    }),
    plan: PlanReport,
  },
  { title: 'HeldRunReview' },
)

const ofRun = {
  ...common,
  params: RunParams,
  problems: ['not_found', 'sync.not_held', 'sync.snapshot_gone', 'sync.snapshot_damaged'],
  example: { params: { runId: '4' } },
} as const

const reviewHeld = operator({
  ...ofRun,
  id: 'readHeldRun',
  method: 'GET',
  path: '/api/v1/held-runs/{runId}',
  summary: 'Read why a run is held and what approving it would do now',
  description: 'Reads the whole stored list and changes nothing.',
  answer: { about: 'The review.', schema: HeldRunReview },
  handler: (deps, { params: { runId } }) => reviewRun(deps, runId),
})

const differenceOfHeld = operator({
  ...ofRun,
  id: 'readHeldRunDifference',
  method: 'GET',
  path: '/api/v1/held-runs/{runId}/difference',
  summary: 'Read every route that approving a held run would change',
  description: 'For a map. Reads the whole stored list and changes nothing.',
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
  handler: (deps, { params: { runId } }) => readRunDifference(deps, runId),
})

const approveHeld = operator({
  ...ofRun,
  id: 'approveHeldRun',
  method: 'POST',
  path: '/api/v1/held-runs/{runId}/approve',
  summary: 'Approve a held run and apply its list',
  description:
    'The changes are dated at the time of the approval. Routes that the list lacks are removed without a second confirmation. The other list is not touched.',
  answer: { about: 'The approved run.', schema: SyncRun },
  problems: [...ofRun.problems, 'sync.busy'],
  handler: async (deps, { params: { runId }, ...checked }) => {
    await withBusyTimeout((signal) => approveRun(deps, runId, signal))
    const target = `run ${runId}`
    await recordOperation(deps, checked, { action: 'held run approved', target, runId })
    const run = await findFinishedRun(deps.db, runId)
    if (run === undefined) throw new RunNotFoundError(runId)
    return run
  },
})

const rejectHeld = operator({
  ...ofRun,
  id: 'rejectHeldRun',
  method: 'POST',
  path: '/api/v1/held-runs/{runId}/reject',
  summary: 'Reject a held run',
  description:
    'Nothing else changes. If a list that agrees with it is fetched again, it is held without a new alert, and only an operator can approve it.',
  answer: {
    about: 'The dropped run.',
    schema: object({ dropped: Type.Array(RowId) }),
  },
  problems: ['not_found', 'sync.not_held', 'sync.busy'],
  handler: async (deps, { params: { runId }, ...checked }) => {
    await withBusyTimeout((signal) => rejectRun(deps, runId, signal))
    const target = `run ${runId}`
    await recordOperation(deps, checked, { action: 'held run rejected', target, runId })
    return { dropped: [runId] }
  },
})

/** The endpoints of held runs and the decisions about them. */
export const HELD_RUN_OPERATIONS = [listHeld, reviewHeld, differenceOfHeld, approveHeld, rejectHeld]

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
  const args = { list, fetched: listOfRun(run), arrivedAt, confirmations: 1 }
  return withPlan(deps, args, async (tx) => ({
    missing: await readDestinations(tx, sql`snapshot_missing`),
    added: await readDestinations(tx, sql`snapshot_added`),
  }))
}
