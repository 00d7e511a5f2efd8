import { Type } from 'typebox'
import { BELIEFS, PAIR_STATES, PRICE_REASONS } from '../platform/base/kinds.ts'
import type { ResellerId } from '../platform/base/reseller-id.ts'
import type { Db } from '../platform/db/database.ts'
import { operations } from '../platform/http/operation.ts'
import { cursorsOf, InstantPosition, pageOf, pageParameters } from '../platform/http/pages.ts'
import { Instant, object, oneOf, orNull } from '../platform/http/schemas.ts'
import { WatchParams } from '../watches/operations/watch-shapes.ts'
import type { WatchPosition } from '../watches/watch-queries.ts'
import { readWatchTimeline, type WatchInterval } from './watch-timeline.ts'
import { requireWatch } from './watch-view-operations.ts'

const { reseller } = operations<{ readonly db: Db }>()

const TAG = 'Watches'
const A_1 = { list: 'summer', reference: 'A-1' }

const Interval = object(
  {
    from: orNull(Instant, 'Null for the first interval: it held when the watch began.'),
    to: orNull(Instant, 'Null while it holds.'),
    pair: oneOf(PAIR_STATES, { title: 'PairState' }),
    outbound: oneOf(BELIEFS, { title: 'LegBelief' }),
    return: orNull(oneOf(BELIEFS, { title: 'LegBelief' })),
    price: orNull(Type.String()),
    currency: orNull(Type.String()),
    priceCheckedAt: orNull(
      Instant,
      'When the last check of the interval began that showed the price. After it no check confirmed the price.',
    ),
    priceReason: orNull(
      oneOf(PRICE_REASONS),
      'Why the last answers of the interval did not show the price of a bookable fare.',
    ),
  },
  { title: 'BeliefInterval' },
)

const { pair: _, outbound: _o, return: _r, ...priceMembers } = Interval.properties
const Price = object(priceMembers, { title: 'PriceInterval' })
const PAGE = object(pageParameters({ preset: 100, max: 1000 }))
const timelines = cursorsOf('watch-timeline', InstantPosition)
const priceSeries = cursorsOf('watch-prices', InstantPosition)

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
      items: items.map(({ pair: _, outbound: _o, return: _r, ...price }) => price),
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
