import { Type } from 'typebox'
import type { Db } from '../../platform/db/database.ts'
import { operations } from '../../platform/http/operation.ts'
import { instant, object } from '../../platform/http/schemas.ts'
import {
  AvailabilityChange,
  ChangeEvidence,
  changePage,
  PAGE_PARAMETERS,
  RecordParams,
  RouteChange,
  RouteChangeKind,
} from '../change-shapes.ts'
import { readFeedBounds, throwMissing } from '../feed-bounds.ts'
import {
  findChangeEvidence,
  findWatchChangeEvidence,
  readAvailabilityPage,
  readRoutePage,
} from '../operator-feed-queries.ts'

const { operator, reseller, shared } = operations<{ readonly db: Db }>()

const MAX_PLACES = 100

const query = object({
  ...PAGE_PARAMETERS,
  kinds: Type.Optional(
    Type.Array(RouteChangeKind, { minItems: 1, description: 'Only changes of these kinds.' }),
  ),
  places: Type.Optional(
    Type.Array(Type.String({ minLength: 1, maxLength: 256 }), {
      minItems: 1,
      maxItems: MAX_PLACES,
      description: 'Only changes of these places and of routes from or to them.',
    }),
  ),
  from: Type.Optional(instant('Only changes recorded at this instant or later.')),
  to: Type.Optional(instant('Only changes recorded before this instant.')),
})

const listRouteChanges = shared({
  id: 'listRouteChanges',
  method: 'GET',
  path: '/api/v1/route-changes',
  tag: 'Changes',
  summary: 'List the changes of routes and places, oldest first',
  description:
    'The first accepted list is the baseline and has no records. Pass the `seq` of the response as `after` of the next request. No record ever appears later with a smaller number.',
  scope: 'read',
  query,
  answer: changePage(RouteChange),
  problems: ['changes.beyond_head', 'changes.restored', 'changes.archived'],
  example: { query: { after: '0', kinds: 'route_added,route_removed', limit: '1' } },
  handler: ({ db }, { query: asked }) => readRoutePage(db, asked),
})

/** The feed of route changes. */
export const ROUTE_CHANGE_OPERATIONS = [listRouteChanges]

const list = operator({
  id: 'listAvailabilityChanges',
  method: 'GET',
  path: '/api/v1/availability-changes',
  tag: 'Operators',
  summary: 'List the changes of all fares, oldest first',
  description:
    'Pass the `seq` of the response as `after` of the next request. `/changes/stream` sends the same records.',
  scope: 'operate',
  query: object(PAGE_PARAMETERS),
  answer: changePage(AvailabilityChange),
  problems: ['changes.beyond_head', 'changes.restored', 'changes.archived'],
  example: { query: { after: '0', limit: '1' } },
  handler: ({ db }, { query: asked }) => readAvailabilityPage(db, asked),
})

const evidence = operator({
  id: 'readAvailabilityChangeEvidence',
  method: 'GET',
  path: '/api/v1/availability-changes/{seq}/evidence',
  tag: 'Operators',
  summary: 'Read the upstream’s answer that a change was decided on',
  scope: 'operate',
  params: RecordParams,
  answer: { about: 'The answer and how it came.', schema: ChangeEvidence },
  problems: ['not_found', 'changes.archived'],
  example: { params: { seq: '1' } },
  handler: async ({ db }, { params: { seq } }) =>
    (await findChangeEvidence(db, seq)) ??
    throwMissing(await readFeedBounds(db, 'availability'), seq),
})

const watchEvidence = reseller({
  id: 'readWatchChangeEvidence',
  method: 'GET',
  path: '/api/v1/watch-changes/{seq}/evidence',
  tag: 'Changes',
  summary: 'Read the upstream’s answer that a record was decided on',
  scope: 'read',
  params: RecordParams,
  answer: { about: 'The answer and how it came.', schema: ChangeEvidence },
  problems: ['not_found', 'changes.archived'],
  example: { params: { seq: '1' } },
  handler: async ({ db, resellerId }, { params: { seq } }) =>
    (await findWatchChangeEvidence(db, resellerId, seq)) ??
    throwMissing(await readFeedBounds(db, resellerId), seq),
})

/** The changes of all fares, and the evidence of records. */
export const AVAILABILITY_CHANGE_OPERATIONS = [list, evidence, watchEvidence]
