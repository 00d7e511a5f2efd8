import { Type } from 'typebox'
import type { Db } from '../db/database.ts'
import { operations } from '../http/operation.ts'
import { cursorsOf, pageOf, pageParameters } from '../http/pages.ts'
import { Instant } from '../http/read-request.ts'
import { readSyncStates } from './route-queries.ts'
import { listSyncRuns } from './sync-run-queries.ts'

const { shared } = operations<{ readonly db: Db }>()

const ListName = Type.Union([Type.Literal('routes'), Type.Literal('with-availability')])
const Count = Type.Union([Type.Integer(), Type.Null()])
const MaybeInstant = Type.Union([Instant, Type.Null()])
const CLOSED = { additionalProperties: false }

const SyncRun = Type.Object(
  {
    runId: Type.Integer(),
    list: ListName,
    status: Type.Enum([
      'applied',
      'unchanged',
      'held',
      'rejected',
      'failed',
      'approved',
      'dropped',
    ]),
    baseline: Type.Boolean({ description: 'The first accepted list: history begins with it.' }),
    startedAt: Instant,
    fetchedAt: MaybeInstant,
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
    reason: Type.Union([
      Type.Object({ code: Type.String(), text: Type.String() }, CLOSED),
      Type.Null(),
    ]),
    reviewId: Type.Optional(Count),
    contentHash: Type.Union([Type.String(), Type.Null()]),
  },
  CLOSED,
)

const cursors = cursorsOf('sync-runs', Type.Integer({ minimum: 1, maximum: 2 ** 53 - 1 }))

const listRuns = shared({
  id: 'listSyncRuns',
  method: 'GET',
  path: '/api/v1/sync-runs',
  tag: 'Freshness',
  summary: 'What came of the last pulls of the route lists, the newest first',
  scope: 'read',
  query: Type.Object(
    {
      list: Type.Optional(
        Type.Union(ListName.anyOf, { description: 'Only the runs of this list.' }),
      ),
      ...pageParameters({ preset: 50, max: 1000 }),
    },
    CLOSED,
  ),
  answer: { about: 'A page of finished runs.', schema: pageOf(SyncRun) },
  problems: ['request.invalid_cursor'],
  example: {
    query: { list: 'routes', limit: '1' },
    answer: {
      items: [
        {
          runId: 1,
          list: 'routes',
          status: 'applied',
          baseline: true,
          startedAt: '2026-01-31T04:00:00.000Z',
          fetchedAt: '2026-01-31T04:00:01.000Z',
          finishedAt: '2026-01-31T04:00:02.000Z',
          bytes: 5_400_000,
          fetched: 37_000,
          duplicates: 0,
          conflictingPlaces: 0,
          unknownPairs: null,
          live: 37_000,
          added: 37_000,
          removed: 0,
          returned: 0,
          pendingAbsences: 0,
          placesChanged: 0,
          gained: null,
          lost: null,
          durationsMs: { fetch: 900, stage: 400, diff: 200, apply: 500 },
          reason: null,
          reviewId: null,
          contentHash: 'a3f1',
        },
      ],
      next: null,
    },
  },
  handler: async ({ db }, { query: { list, limit, cursor } }) => {
    const after = cursors.read(cursor, list)
    const runs = await listSyncRuns(db, { list, limit: limit + 1, after })
    return cursors.page(runs, { limit, bound: list, positionOf: ({ runId }) => runId })
  },
})

const readStatus = shared({
  id: 'readStatus',
  method: 'GET',
  path: '/api/v1/status',
  tag: 'Freshness',
  summary: 'How fresh what we hold is',
  scope: 'read',
  answer: {
    about: 'The state of each route list.',
    schema: Type.Object(
      {
        lists: Type.Array(
          Type.Object(
            {
              list: ListName,
              lastSuccessAt: Type.Union([Instant, Type.Null()], {
                description: 'When the last list that was believed was fetched.',
              }),
              lastAttemptAt: MaybeInstant,
              held: Type.Integer({ description: 'Lists that wait for review.' }),
            },
            CLOSED,
          ),
        ),
      },
      CLOSED,
    ),
  },
  example: {
    answer: {
      lists: [
        {
          list: 'routes',
          lastSuccessAt: '2026-01-31T04:00:01.000Z',
          lastAttemptAt: '2026-01-31T04:00:00.000Z',
          held: 0,
        },
      ],
    },
  },
  handler: async ({ db }) => ({ lists: await readSyncStates(db) }),
})

/** What came of the pulls of both lists, and how fresh they are. */
export const SYNC_RUN_OPERATIONS = [listRuns, readStatus]
