import { Type } from 'typebox'
import type { ResellerId } from '../../base/reseller-id.ts'
import { createSemaphore } from '../../base/semaphore.ts'
import { FareShape } from '../../changes/watch-change-endpoints.ts'
import type { Db } from '../../db/database.ts'
import { operations } from '../../http/operation.ts'
import { ProblemError } from '../../http/problems.ts'
import { Instant, object, oneOf, orNull } from '../../http/schemas.ts'
import { bufferText, sendBuffered } from '../../http/send-text.ts'
import { ListParams, orNotFound } from '../../watch/endpoints/watch-list-endpoints.ts'
import { shapeOf, WatchParams, WatchShape } from '../../watch/endpoints/watch-shape-endpoints.ts'
import { findWatch, type Watch, type WatchPosition } from '../../watch/watch-queries.ts'
import type { FareView } from '../decide/fare-state.ts'
import { statesText, viewWatch } from './watch-states.ts'

export interface WatchViewDeps {
  readonly db: Db
  readonly minRecheckSeconds: number
}

const { reseller } = operations<WatchViewDeps>()

const TAG = 'Watches'

const View = {
  status: oneOf(['new', 'followed', 'stale', 'expired', 'paused'], {
    description:
      'new: nothing is believed of the fare yet. stale: the last good check is too old. ' +
      'expired: departed, or never available for 30 days. paused: you paused it, or were disabled.',
  }),
  belief: Type.Unsafe<FareView>(FareShape),
  lastGoodCheckAt: orNull(Instant, 'When the last check began that showed the state of every leg.'),
  lastCheckAt: orNull(Instant),
  lastReason: orNull(
    Type.String(),
    'Why the last check did not show the state of a leg; null where it did.',
  ),
  next: orNull(
    object({
      notBefore: Instant,
      why: oneOf(['first_look', 'confirmation', 'retry', 'turn'], {
        description:
          'turn: its interval; confirmation: a loss or another flight is looked at again; retry: the last ' +
          'check told nothing.',
      }),
    }),
    'By this watch’s own settings and answers; it comes later where the budget is short, and sooner where ' +
      'the question is asked for another reason. Null: it is not checked.',
  ),
}

const A_1 = { list: 'summer', reference: 'A-1' }

const readWatch = reseller({
  id: 'readWatch',
  method: 'GET',
  path: '/api/v1/watch-lists/{list}/watches/{reference}',
  tag: TAG,
  summary: 'A watch, what is believed of its fare, and when it is looked at next',
  scope: 'read',
  params: WatchParams,
  answer: {
    about: 'The watch, with the present belief of its fare.',
    schema: object({ ...WatchShape.properties, ...View }),
  },
  problems: ['not_found'],
  example: { params: A_1 },
  handler: async ({ db, resellerId, minRecheckSeconds }, { params }) => {
    const seen = await viewWatch(db, { resellerId, minRecheckSeconds }, params)
    if (seen === undefined) throw new ProblemError('not_found')
    return { ...shapeOf(seen.watch), ...seen.view }
  },
})

/** Transactions of states at a time: the other connections are for everybody else. */
const reading = createSemaphore(2)

const readListState = reseller({
  id: 'readWatchListState',
  method: 'GET',
  path: '/api/v1/watch-lists/{list}/state',
  tag: 'Watch lists',
  summary: 'All states of a list, and the number from which on to follow your feed',
  description:
    'As one moment shows them. Follow `/api/v1/watch-changes` with `seq` as `after`: nothing is missed, nothing ' +
    'is told twice.',
  scope: 'read',
  params: ListParams,
  answer: {
    about: 'The states, by reference.',
    schema: object({
      seq: Type.Integer(),
      takenAt: Instant,
      watches: Type.Array(object({ reference: Type.String(), watchId: Type.String(), ...View })),
    }),
  },
  problems: ['not_found'],
  example: { params: { list: 'summer' } },
  handler: async ({ db, resellerId, minRecheckSeconds }, { params: { list }, reply }) => {
    const text = statesText(db, { resellerId, list, minRecheckSeconds })
    const blocks = await orNotFound(reading(() => bufferText(text)))
    return sendBuffered(reply.type('application/json; charset=utf-8'), blocks)
  },
})

/** What is known of a reseller's watches. */
export const WATCH_VIEW_OPERATIONS = [readWatch, readListState]

/** The watch of a path. */
export async function requireWatch(
  db: Db,
  resellerId: ResellerId,
  position: WatchPosition,
): Promise<Watch> {
  const watch = await findWatch({ db, resellerId }, position)
  if (watch === undefined) throw new ProblemError('not_found')
  return watch
}
