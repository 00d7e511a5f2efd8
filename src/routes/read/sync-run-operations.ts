import { Type } from 'typebox'
import { RUN_STATUSES } from '../../platform/base/kinds.ts'
import type { Db } from '../../platform/db/database.ts'
import { operations } from '../../platform/http/operation.ts'
import { cursorsOf, pageOf, pageParameters } from '../../platform/http/pages.ts'
import { Instant, object, oneOf, orNull, RowId } from '../../platform/http/schemas.ts'
import { listSyncRuns, showRun } from '../runs.ts'

const { shared } = operations<{ readonly db: Db }>()

export const ListName = oneOf(['routes', 'with-availability'], { title: 'ListName' })
export const Reason = object({ code: Type.String(), text: Type.String() }, { title: 'Reason' })
const Status = oneOf(RUN_STATUSES, { title: 'RunStatus' })
const Count = orNull(Type.Integer())
const MaybeInstant = orNull(Instant)
const MaybeText = orNull(Type.String())

export const RUN_MEMBERS = {
  runId: Type.Integer(),
  list: ListName,
  status: Status,
  baseline: Type.Boolean({
    description: 'Whether this is the first accepted list, with which the history begins.',
  }),
  startedAt: Instant,
  arrivedAt: orNull(Instant, 'When the whole list had arrived.'),
  validAt: orNull(
    Instant,
    'The valid time of the changes: when the list arrived, or was approved.',
  ),
  finishedAt: Instant,
  bytes: Count,
  fetched: orNull(Type.Integer(), 'Routes in the list, duplicates included.'),
  duplicates: Count,
  conflictingPlaces: orNull(Type.Integer(), 'Places that the list gives different attributes.'),
  unknownPairs: orNull(Type.Integer(), 'Pairs with availability that are not among the routes.'),
  live: orNull(Type.Integer(), 'Live or available routes after the run.'),
  added: Count,
  removed: Count,
  returned: orNull(Type.Integer(), 'Routes that returned before their removal was confirmed.'),
  pendingAbsences: orNull(Type.Integer(), 'Routes whose removal is not yet confirmed.'),
  placesChanged: Count,
  pendingPlaces: orNull(Type.Integer(), 'Places whose new attributes are not yet confirmed.'),
  gained: orNull(Type.Integer(), 'Routes that became available.'),
  lost: orNull(Type.Integer(), 'Routes that are no longer available.'),
  wouldAdd: orNull(
    Type.Integer(),
    'Routes that the held list would have added, or made available. Null if it was not held.',
  ),
  wouldRemove: orNull(
    Type.Integer(),
    'Routes that the held list would have removed, or made unavailable. Null if it was not held.',
  ),
  durationsMs: Type.Record(Type.String(), Type.Integer(), {
    description: 'Milliseconds of each stage.',
  }),
  reason: orNull(Reason, 'Why the list was held or rejected, or why the run failed.'),
  contentHash: orNull(Type.String()),
}

/** One finished run. */
export const SyncRun = object(RUN_MEMBERS, { title: 'Run' })

const RunDetails = object(
  {
    ...RUN_MEMBERS,
    notModified: Type.Boolean({
      description: 'Whether the upstream answered that its list had not changed.',
    }),
    etag: MaybeText,
    lastModified: MaybeText,
    resolution: orNull(
      Type.String(),
      'What became of a held run. Null if it was not held, or is still.',
    ),
    resolvedAt: MaybeInstant,
    resolvedBy: orNull(Type.Integer(), 'The run whose list decided it. Null if an operator did.'),
    storedBytes: orNull(
      Type.Integer(),
      'The compressed size of the stored list. Null if the list is not stored.',
    ),
    changes: Type.Record(Type.String(), Type.Integer(), {
      description: 'The number of route changes that the run recorded, by kind.',
    }),
  },
  { title: 'RunDetails' },
)

export const RunParams = object({ runId: RowId })

const cursors = cursorsOf('sync-runs', RowId, ({ runId }: { runId: number }) => runId)

const listRuns = shared({
  id: 'listSyncRuns',
  method: 'GET',
  path: '/api/v1/sync-runs',
  tag: 'Freshness',
  summary: 'List the finished runs of the route lists, newest first',
  scope: 'read',
  query: object({
    list: Type.Optional(
      oneOf(['routes', 'with-availability'], { description: 'Only the runs of this list.' }),
    ),
    statuses: Type.Optional(
      Type.Array(Status, { minItems: 1, description: 'Only runs with one of these statuses.' }),
    ),
    ...pageParameters({ preset: 50, max: 1000 }),
  }),
  answer: { about: 'A page of finished runs.', schema: pageOf(SyncRun) },
  problems: ['request.invalid_cursor'],
  example: { query: { list: 'routes', limit: '1' } },
  handler: ({ db }, { query }) => {
    const { limit: _, cursor: _c, ...filter } = query
    return cursors.page(query, (page) => listSyncRuns(db, { ...filter, ...page }), filter)
  },
})

const showSyncRun = shared({
  id: 'readSyncRun',
  method: 'GET',
  path: '/api/v1/sync-runs/{runId}',
  tag: 'Freshness',
  summary: 'Read the details of a finished run',
  scope: 'read',
  params: RunParams,
  answer: { about: 'The run.', schema: RunDetails },
  problems: ['not_found'],
  example: { params: { runId: '1' } },
  handler: ({ db }, { params: { runId } }) => showRun(db, runId),
})

/** The endpoints of finished runs. */
export const SYNC_RUN_OPERATIONS = [listRuns, showSyncRun]
