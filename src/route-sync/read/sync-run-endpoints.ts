import { Type } from 'typebox'
import { RUN_STATUSES } from '../../base/kinds.ts'
import type { Db } from '../../db/database.ts'
import { operations } from '../../http/operation.ts'
import { cursorsOf, pageOf, pageParameters } from '../../http/pages.ts'
import { Instant, object, oneOf, orNull, RowId } from '../../http/schemas.ts'
import { listSyncRuns, showRun } from '../runs/sync-run-queries.ts'

const { shared } = operations<{ readonly db: Db }>()

const ListName = oneOf(['routes', 'with-availability'])
const Count = orNull(Type.Integer())
const MaybeInstant = orNull(Instant)
const MaybeText = orNull(Type.String())

const Status = oneOf(RUN_STATUSES)

/** One finished run. */
export const SyncRun = object({
  runId: Type.Integer(),
  list: ListName,
  status: Status,
  baseline: Type.Boolean({ description: 'The first accepted list: history begins with it.' }),
  startedAt: Instant,
  arrivedAt: orNull(Instant, 'When the whole list had arrived.'),
  fetchedAt: orNull(Instant, 'From when on it counts: when it had arrived, or was approved.'),
  finishedAt: Instant,
  bytes: Count,
  fetched: Count,
  duplicates: Count,
  conflictingPlaces: Count,
  unknownPairs: Count,
  live: Count,
  added: Count,
  removed: Count,
  returned: Count,
  pendingAbsences: Count,
  placesChanged: Count,
  gained: Count,
  lost: Count,
  durationsMs: Type.Record(Type.String(), Type.Number()),
  reason: orNull(object({ code: Type.String(), text: Type.String() })),
  reviewId: Type.Optional(Count),
  contentHash: orNull(Type.String()),
})

const ShownRun = object({
  ...SyncRun.properties,
  notModified: Type.Boolean({
    description: 'The upstream said that its list was still the last accepted one.',
  }),
  etag: MaybeText,
  lastModified: MaybeText,
  resolution: orNull(Type.String(), 'What ended its review; null where it had none, or is held.'),
  resolvedAt: MaybeInstant,
  resolvedBy: orNull(Type.Integer(), 'The run that ended it; null where a person did.'),
  reviewRuns: Type.Array(Type.Integer(), {
    description: 'The runs under the same review, it included.',
  }),
  storedBytes: orNull(
    Type.Integer(),
    'What its list takes as it is kept; null where it is not kept.',
  ),
  changes: Type.Record(Type.String(), Type.Integer(), {
    description: 'Records that it added to the feed of route changes, by kind.',
  }),
})

/** Which run. */
export const RunParams = object({ runId: RowId })

const cursors = cursorsOf('sync-runs', RowId)

const listRuns = shared({
  id: 'listSyncRuns',
  method: 'GET',
  path: '/api/v1/sync-runs',
  tag: 'Freshness',
  summary: 'What came of the last pulls of the route lists, the newest first',
  scope: 'read',
  query: object({
    list: Type.Optional(
      oneOf(['routes', 'with-availability'], { description: 'Only the runs of this list.' }),
    ),
    statuses: Type.Optional(
      Type.Array(Status, { minItems: 1, description: 'Only runs that ended like this.' }),
    ),
    ...pageParameters({ preset: 50, max: 1000 }),
  }),
  answer: { about: 'A page of finished runs.', schema: pageOf(SyncRun) },
  problems: ['request.invalid_cursor'],
  example: { query: { list: 'routes', limit: '1' } },
  handler: async ({ db }, { query: { limit, cursor, ...filter } }) => {
    const after = cursors.read(cursor, filter)
    const runs = await listSyncRuns(db, { ...filter, limit: limit + 1, after })
    return cursors.page(runs, { limit, bound: filter, positionOf: ({ runId }) => runId })
  },
})

const showSyncRun = shared({
  id: 'showSyncRun',
  method: 'GET',
  path: '/api/v1/sync-runs/{runId}',
  tag: 'Freshness',
  summary: 'Everything that is known of a finished run',
  scope: 'read',
  params: RunParams,
  answer: { about: 'The run.', schema: ShownRun },
  problems: ['sync.run_not_found'],
  example: { params: { runId: '1' } },
  handler: async ({ db }, { params: { runId } }) => {
    const run = await showRun(db, runId)
    return { ...run, reviewRuns: [...run.reviewRuns] }
  },
})

/** What came of the pulls of both lists. */
export const SYNC_RUN_OPERATIONS = [listRuns, showSyncRun]
