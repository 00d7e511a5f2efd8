import type { FastifyReply } from 'fastify'
import { Type } from 'typebox'
import { PAIR_STATES } from '../platform/base/kinds.ts'
import type { ResellerId } from '../platform/base/reseller-id.ts'
import { createSemaphore } from '../platform/base/semaphore.ts'
import type { Db } from '../platform/db/database.ts'
import { operations } from '../platform/http/operation.ts'
import { bufferText, sendBuffered } from '../platform/http/responses.ts'
import { Instant, object, oneOf, orNull } from '../platform/http/schemas.ts'
import { readOwnPace, WatchPaceShape } from '../schedule/pace-shapes.ts'
import {
  ListParams,
  orNotFound,
  watchNotFound,
} from '../watches/operations/watch-list-operations.ts'
import { shapeOf, WatchParams, watchMembers } from '../watches/operations/watch-operations.ts'
import { findWatch, type Watch, type WatchPosition } from '../watches/watch-lists.ts'
import { statesText, viewWatch } from './watch-states.ts'
import { viewMembers } from './watch-view-shapes.ts'

interface WatchViewDeps {
  readonly db: Db
  readonly minRecheckSeconds: number
}

const { reseller } = operations<WatchViewDeps>()

const TAG = 'Watches'

const WatchState = object(
  {
    list: Type.String(),
    reference: Type.String(),
    watchId: Type.String(),
    flightId: Type.String(),
    returnFlightId: orNull(Type.String()),
    ...viewMembers,
  },
  { title: 'WatchState' },
)

const WatchStates = object(
  {
    seq: Type.Integer({
      description:
        'The number of the last record of your feed at this moment. The states contain every record up to it, and no later one.',
    }),
    takenAt: Instant,
    watches: Type.Array(WatchState),
  },
  { title: 'WatchStates' },
)

const day = (description: string) => Type.Optional(Type.String({ format: 'date', description }))

/** The parameters that filter states. They name the members that are compared. */
const StateFilters = object({
  status: Type.Optional(
    Type.Array(viewMembers.status, {
      minItems: 1,
      description: 'Only watches with these statuses.',
    }),
  ),
  pair: Type.Optional(
    Type.Array(oneOf(PAIR_STATES, { title: 'PairState' }), {
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
  departsThrough: day('Only watches whose outbound flight departs on this day or earlier.'),
})

const A_1 = { list: 'summer', reference: 'A-1' }

const readWatch = reseller({
  id: 'readWatch',
  method: 'GET',
  path: '/api/v1/watch-lists/{list}/watches/{reference}',
  tag: TAG,
  summary: 'Read a watch, the belief of its fare, and its next check',
  scope: 'read',
  params: WatchParams,
  answer: {
    about: 'The watch and the current belief of its fare.',
    schema: object(
      {
        ...watchMembers,
        ...viewMembers,
        pace: orNull(
          WatchPaceShape,
          'How often the fare is checked, and why. Null if the watch is not checked.',
        ),
      },
      { title: 'WatchView' },
    ),
  },
  problems: ['not_found'],
  example: { params: A_1 },
  handler: async ({ db, resellerId, minRecheckSeconds }, { params }) => {
    const viewed = await viewWatch(db, { resellerId, minRecheckSeconds }, params)
    if (viewed === undefined) throw await watchNotFound({ db, resellerId }, params)
    const { watch, view } = viewed
    const { trackedFareId: fareId } = watch
    const pace =
      view.next &&
      (await readOwnPace(db, { resellerId, fareId, now: new Date(), minRecheckSeconds }))
    return { ...shapeOf(watch), ...view, pace }
  },
})

/** Only two transactions at a time read states, so that connections remain for other requests. */
const reading = createSemaphore(2)

const readListState = reseller({
  id: 'readWatchListState',
  method: 'GET',
  path: '/api/v1/watch-lists/{list}/state',
  tag: 'Watch lists',
  summary: 'Read all states of a list, and the number after which to follow your feed',
  description:
    'All states are from one moment. Follow `/api/v1/watch-changes` with `seq` as `after`: you miss no record and ' +
    'receive none twice.',
  scope: 'read',
  params: ListParams,
  query: StateFilters,
  answer: { about: 'The states that pass the filters, by reference.', schema: WatchStates },
  problems: ['not_found'],
  example: { params: { list: 'summer' } },
  handler: async ({ db, resellerId, minRecheckSeconds }, { params: { list }, query, reply }) =>
    sendStates(reply, statesText(db, { resellerId, list, minRecheckSeconds, filter: query })),
})

const readAllStates = reseller({
  id: 'readWatchState',
  method: 'GET',
  path: '/api/v1/watch-state',
  tag: TAG,
  summary: 'Read all states of all your lists, and the number after which to follow your feed',
  description:
    'All states are from one moment. Follow `/api/v1/watch-changes` with `seq` as `after`: you miss no record and ' +
    'receive none twice.',
  scope: 'read',
  query: StateFilters,
  answer: {
    about: 'The states that pass the filters, by list and reference.',
    schema: WatchStates,
  },
  handler: async ({ db, resellerId, minRecheckSeconds }, { query, reply }) =>
    sendStates(reply, statesText(db, { resellerId, minRecheckSeconds, filter: query })),
})

async function sendStates(reply: FastifyReply, text: AsyncGenerator<string>) {
  const blocks = await orNotFound(reading(() => bufferText(text)))
  return sendBuffered(reply.type('application/json; charset=utf-8'), blocks)
}

/** The views of a reseller's watches. */
export const WATCH_VIEW_OPERATIONS = [readWatch, readListState, readAllStates]

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
