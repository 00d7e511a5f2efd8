import { Type } from 'typebox'
import { BELIEFS, PAIR_STATES } from '../../base/kinds.ts'
import type { ResellerId } from '../../base/reseller-id.ts'
import type { Db } from '../../db/database.ts'
import { operations } from '../../http/operation.ts'
import { cursorsOf, pageOf, pageParameters } from '../../http/pages.ts'
import { Instant, object, oneOf, orNull } from '../../http/schemas.ts'
import { WatchParams } from '../../watch/endpoints/watch-shape-endpoints.ts'
import type { WatchPosition } from '../../watch/watch-queries.ts'
import { readWatchTimeline, type WatchInterval } from './watch-timeline.ts'
import { requireWatch } from './watch-view-endpoints.ts'

const { reseller } = operations<{ readonly db: Db }>()

const TAG = 'Watches'
const A_1 = { list: 'summer', reference: 'A-1' }
/** The last instant of a Date. */
const MAX_MS = 8.64e15

const Interval = object(
  {
    from: orNull(Instant, 'Null for the first interval: it held when the watch began.'),
    to: orNull(Instant, 'Null while it holds.'),
    pair: oneOf(PAIR_STATES),
    outbound: oneOf(BELIEFS),
    return: orNull(oneOf(BELIEFS)),
    price: orNull(Type.String()),
    currency: orNull(Type.String()),
  },
  { title: 'BeliefInterval' },
)

const Price = object(Type.Pick(Interval, ['from', 'to', 'price', 'currency']).properties, {
  title: 'PriceInterval',
})
const PAGE = object(pageParameters({ preset: 100, max: 1000 }))
const Place = Type.Integer({ minimum: -MAX_MS, maximum: MAX_MS })
const timelines = cursorsOf('watch-timeline', Place)
const priceSeries = cursorsOf('watch-prices', Place)

const timeline = reseller({
  id: 'readWatchTimeline',
  method: 'GET',
  path: '/api/v1/watch-lists/{list}/watches/{reference}/timeline',
  tag: TAG,
  summary: 'List what was believed of a watch’s fare since the watch began, newest first',
  scope: 'read',
  params: WatchParams,
  query: PAGE,
  answer: {
    about: 'A page of intervals. There are none while the watch is paused.',
    schema: pageOf(Interval),
  },
  problems: ['not_found', 'request.invalid_cursor'],
  example: { params: A_1 },
  handler: async ({ db, resellerId }, { params, query }) =>
    intervalsOf(db, { resellerId, params, query, cursors: timelines, onlyBookable: false }),
})

const prices = reseller({
  id: 'readWatchPrices',
  method: 'GET',
  path: '/api/v1/watch-lists/{list}/watches/{reference}/prices',
  tag: TAG,
  summary:
    'List the prices at which a watch’s fare was bookable since the watch began, newest first',
  scope: 'read',
  params: WatchParams,
  query: PAGE,
  answer: {
    about:
      'A page of prices for all passengers. In a gap between two intervals the fare was not bookable.',
    schema: pageOf(Price),
  },
  problems: ['not_found', 'request.invalid_cursor'],
  example: { params: A_1 },
  handler: async ({ db, resellerId }, { params, query }) => {
    const args = { resellerId, params, query, cursors: priceSeries, onlyBookable: true }
    const { items, next } = await intervalsOf(db, args)
    return {
      items: items.map(({ from, to, price, currency }) => ({ from, to, price, currency })),
      next,
    }
  },
})

interface IntervalsArgs {
  readonly resellerId: ResellerId
  readonly params: WatchPosition
  readonly query: { readonly limit: number; readonly cursor?: string }
  readonly cursors: typeof timelines
  readonly onlyBookable: boolean
}

async function intervalsOf(db: Db, args: IntervalsArgs) {
  const { resellerId, params, query, cursors, onlyBookable } = args
  const { limit, cursor } = query
  const { id: watchId } = await requireWatch(db, resellerId, params)
  // The cursor is bound to the watch by its id, which only its reseller knows.
  const position = cursors.read(cursor, watchId)
  const before = position === undefined ? undefined : new Date(position)
  const page = { watchId, before, limit: limit + 1, onlyBookable }
  const rows = await readWatchTimeline(db, resellerId, page)
  const positionOf = ({ place }: WatchInterval) => place.getTime()
  const { items, next } = cursors.page(rows, { limit, bound: watchId, positionOf })
  return { items: items.map(({ place: _, ...shown }) => shown), next }
}

/** The history of a reseller's watches. */
export const WATCH_HISTORY_OPERATIONS = [timeline, prices]
