import { Type } from 'typebox'
import { BELIEF_STATES } from '../platform/base/kinds.ts'
import type { ResellerId } from '../platform/base/reseller-id.ts'
import type { Db, Tenant } from '../platform/db/database.ts'
import { operations } from '../platform/http/operation.ts'
import { cursorsOf, type PagePosition, pageOf, pageParameters } from '../platform/http/pages.ts'
import { bufferText, sendBuffered } from '../platform/http/responses.ts'
import { Instant, object, oneOf } from '../platform/http/schemas.ts'
import {
  ListParams,
  orNotFound,
  watchNotFound,
} from '../watches/operations/watch-list-operations.ts'
import { WatchParams } from '../watches/operations/watch-operations.ts'
import {
  findWatch,
  requireWatchList,
  type Watch,
  type WatchPosition,
} from '../watches/watch-lists.ts'
import { listPassing, reading, showNamed, statesText } from './watch-states.ts'
import { type ShownWatch, viewMembers, WatchShape } from './watch-view-shapes.ts'

export interface WatchViewDeps {
  readonly db: Db
  readonly minRecheckSeconds: number
}

const { reseller } = operations<WatchViewDeps>()

const TAG = 'Watches'

const WatchStates = object(
  {
    seq: Type.Integer({
      description:
        'The number of the last record of your feed at this moment. The watches show every record up to it, and no later one.',
    }),
    takenAt: Instant,
    watches: Type.Array(WatchShape),
  },
  { title: 'WatchStates' },
)

const day = (description: string) => Type.Optional(Type.String({ format: 'date', description }))

/** The parameters that filter watches. They name the members that are compared. */
const WatchFilters = object({
  status: Type.Optional(
    Type.Array(viewMembers.status, {
      minItems: 1,
      description: 'Only watches with these statuses.',
    }),
  ),
  state: Type.Optional(
    Type.Array(oneOf(BELIEF_STATES, { title: 'BeliefState' }), {
      minItems: 1,
      description: 'Only watches whose belief shows one of these.',
    }),
  ),
  place: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 100,
      description:
        'Only watches of flights from or to this place: an airport code, or the beginning of the name of its city. ' +
        'This and the next two compare the flights that `belief` shows, or `lastFlight`.',
    }),
  ),
  departsFrom: day(
    'Only watches whose outbound flight departs on this day or later, in local time. Of a flight that was never seen, ' +
      '`departsOn` counts.',
  ),
  departsTo: day('Only watches whose outbound flight departs on this day or earlier.'),
})

const A_1 = { list: 'summer', reference: 'A-1' }
const Position = Type.String({ maxLength: 200 })
const cursors = cursorsOf('watches', Position, ({ reference }: ShownWatch) => reference)

const listOfList = reseller({
  id: 'listWatches',
  method: 'GET',
  path: '/api/v1/watch-lists/{list}/watches',
  tag: TAG,
  summary: 'List the watches of a list by reference',
  scope: 'read',
  params: ListParams,
  query: object({ ...WatchFilters.properties, ...pageParameters({ preset: 100, max: 1000 }) }),
  answer: {
    about: 'A page of the watches that pass the filters.',
    schema: pageOf(WatchShape),
  },
  problems: ['not_found', 'request.invalid_cursor'],
  example: { params: { list: 'summer' } },
  handler: async ({ db, resellerId, resellerName, minRecheckSeconds }, { params, query }) => {
    const { list } = params
    const { limit: _, cursor: _c, ...filter } = query
    await orNotFound(requireWatchList({ db, resellerId }, list))
    const args = { resellerId, list, minRecheckSeconds, filter }
    const read = ({ after: reference, limit }: PagePosition<string>) => {
      const after = reference === undefined ? undefined : { list, reference }
      return listPassing(db, args, { after, limit })
    }
    return cursors.page(query, read, [resellerName, list, filter])
  },
})

const readWatch = reseller({
  id: 'readWatch',
  method: 'GET',
  path: '/api/v1/watch-lists/{list}/watches/{reference}',
  tag: TAG,
  summary: 'Read a watch, the belief of its fare, and its next check',
  scope: 'read',
  params: WatchParams,
  answer: { about: 'The watch.', schema: WatchShape },
  problems: ['not_found'],
  example: { params: A_1 },
  handler: (owner, { params }) => showWatch(owner, params),
})

const readAllStates = reseller({
  id: 'readWatchState',
  method: 'GET',
  path: '/api/v1/watch-state',
  tag: TAG,
  summary: 'Read all watches of all your lists, and the number after which to follow your feed',
  description:
    'All watches are from one moment. Follow `/api/v1/watch-changes` with `seq` as `after`: you miss no record and ' +
    'receive none twice.',
  scope: 'read',
  query: object({
    list: Type.Optional(
      Type.String({ minLength: 1, maxLength: 200, description: 'Only watches of this list.' }),
    ),
    ...WatchFilters.properties,
  }),
  answer: {
    about: 'The watches that pass the filters, by list and reference.',
    schema: WatchStates,
  },
  problems: ['not_found'],
  handler: async ({ db, resellerId, minRecheckSeconds }, { query, reply }) => {
    const { list, ...filter } = query
    const text = statesText(db, { resellerId, list, minRecheckSeconds, filter })
    const blocks = await orNotFound(reading(resellerId, () => bufferText(text)))
    return sendBuffered(reply.type('application/json; charset=utf-8'), blocks)
  },
})

/** The views of a reseller's watches. */
export const WATCH_VIEW_OPERATIONS = [listOfList, readWatch, readAllStates]

/** Shows the watch of a path. Throws a 404. */
export async function showWatch(
  { db, resellerId, minRecheckSeconds }: WatchViewDeps & Tenant,
  { list, reference }: WatchPosition,
): Promise<ShownWatch> {
  const args = { resellerId, minRecheckSeconds }
  const [shown] = await showNamed(db, args, { list, references: [reference] })
  if (shown === undefined) throw await watchNotFound({ db, resellerId }, { list, reference })
  return shown
}

/** Finds the watch of a path. Throws a 404. */
export async function requireWatch(
  db: Db,
  resellerId: ResellerId,
  position: WatchPosition,
): Promise<Watch> {
  const watch = await findWatch({ db, resellerId }, position)
  if (watch === undefined) throw await watchNotFound({ db, resellerId }, position)
  return watch
}
