import { type Static, Type } from 'typebox'
import { Price } from '../feeds/change-shapes.ts'
import { BELIEF_STATES, BELIEFS, PRICE_REASONS } from '../platform/base/kinds.ts'
import { type PricedRow, withPrice } from '../platform/base/money.ts'
import type { ResellerId } from '../platform/base/reseller-id.ts'
import { type Db, sql } from '../platform/db/database.ts'
import { operations } from '../platform/http/operation.ts'
import {
  cursorsOf,
  InstantPosition,
  type PagePosition,
  pageOf,
  pageParameters,
} from '../platform/http/pages.ts'
import { Instant, instant, object, oneOf, orNull } from '../platform/http/schemas.ts'
import { ListParams, orNotFound } from '../watches/operations/watch-list-operations.ts'
import { WatchParams } from '../watches/operations/watch-operations.ts'
import { requireWatchList, type WatchPosition } from '../watches/watch-lists.ts'
import { requireWatch } from './watch-view-operations.ts'

const { reseller } = operations<{ readonly db: Db }>()

const TAG = 'Watches'
const A_1 = { list: 'summer', reference: 'A-1' }

/** A time during which what was believed of a fare did not change. */
export const Interval = object(
  {
    validFrom: instant(
      'Of the first interval of a watch when it began: what was known before is not shown.',
    ),
    validTo: orNull(Instant, 'Null while it holds.'),
    state: oneOf(BELIEF_STATES, { title: 'BeliefState' }),
    outbound: oneOf(BELIEFS, { title: 'LegBelief' }),
    return: orNull(oneOf(BELIEFS, { title: 'LegBelief' })),
    price: orNull(Price),
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

/** Its columns in `farewatch.fare_history`, without its bounds. */
export const INTERVAL_COLUMNS = sql`
  state, outbound, return_leg as return, price, currency, price_checked_at as "priceCheckedAt", price_reason as "priceReason"
`

const { state: _, outbound: _o, return: _r, ...priceMembers } = Interval.properties
const PriceInterval = object(priceMembers, { title: 'PriceInterval' })
const PAGE = object(pageParameters({ preset: 100, max: 1000 }))
const placeOf = ({ place }: WatchInterval) => place.getTime()
const timelines = cursorsOf('watch-timeline', InstantPosition, placeOf)
const priceSeries = cursorsOf('watch-prices', InstantPosition, placeOf)

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
    schema: pageOf(PriceInterval),
  },
  problems: ['not_found', 'request.invalid_cursor'],
  example: { params: A_1 },
  handler: async ({ db, resellerId }, { params, query }) => {
    const args = { resellerId, params, query, cursors: priceSeries, onlyBookable: true }
    const { items, next } = await intervalsOf(db, args)
    return {
      items: items.map(({ state: _, outbound: _o, return: _r, ...price }) => price),
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
  const { id: watchId } = await requireWatch(db, resellerId, params)
  const read = ({ after, limit }: PagePosition<number>) => {
    const before = after === undefined ? undefined : new Date(after)
    return readWatchTimeline(db, resellerId, { watchId, before, limit, onlyBookable })
  }
  // The cursor is bound to the watch by its id, which only its reseller knows.
  const { items, next } = await cursors.page(query, read, watchId)
  return { items: items.map(({ place: _, ...shown }) => shown), next }
}

interface TimelinePage {
  readonly watchId: string
  /** Only intervals whose `place` is before this instant. */
  readonly before?: Date | undefined
  readonly limit: number
  /** Only intervals in which the fare was bookable. */
  readonly onlyBookable: boolean
}

/** A time since a watch began during which the belief of its fare did not change. */
export interface WatchInterval extends Static<typeof Interval> {
  /** The position in the timeline: when the interval began, or for the first one when the watch began. */
  readonly place: Date
}

/**
 * Reads what was believed of a watch's fare since the watch began, newest first. Returns nothing while the watch is
 * paused. The first interval begins with the watch: its own begin would show whether others watched the fare before.
 */
export async function readWatchTimeline(
  db: Db,
  resellerId: number,
  { watchId, before, limit, onlyBookable }: TimelinePage,
): Promise<WatchInterval[]> {
  const { rows } = await sql<PricedRow<WatchInterval>>`
    with own as (
      select w.tracked_fare_id, w.began_at, w.ended_at as ends_at
        from watch w
        join reseller r on r.id = w.reseller_id
       where w.id = ${watchId} and w.reseller_id = ${resellerId}
         and w.paused_at is null and r.disabled_at is null
    ), seen as (
      select v.*, o.began_at, o.ends_at, greatest(v.valid_from, o.began_at) as place
        from own o
        join farewatch.fare_history v on v.fare_id = o.tracked_fare_id
       where (v.valid_to is null or v.valid_to > o.began_at)
         and (o.ends_at is null or v.valid_from < o.ends_at)
    )
    select case when valid_from > (select min(valid_from) from seen) then valid_from else began_at end as "validFrom",
           least(valid_to, ends_at) as "validTo", ${INTERVAL_COLUMNS}, place
      from seen
     where ${before === undefined ? sql`true` : sql`place < ${before}`}
       and ${onlyBookable ? sql`state = 'bookable'` : sql`true`}
     order by place desc
     limit ${limit}
  `.execute(db)
  return rows.map(withPrice)
}

const MAX_DAYS = 60
/**
 * The latest intervals of a watch that one answer carries. A fare that changes more often is shown for a shorter
 * time.
 */
const MAX_INTERVALS = 200

const StripInterval = object(
  {
    validFrom: instant('Not before the watch began, nor before the days that were asked for.'),
    validTo: orNull(instant(), 'Null while it holds.'),
    state: oneOf(BELIEF_STATES, { title: 'BeliefState' }),
    price: orNull(Price),
  },
  { title: 'StripInterval' },
)

const Strip = object(
  {
    reference: Type.String(),
    watchId: Type.String({ format: 'uuid' }),
    intervals: Type.Array(StripInterval, {
      maxItems: MAX_INTERVALS,
      description: `What was believed, oldest first; the latest ${MAX_INTERVALS} intervals. None while the watch is paused.`,
    }),
    bookableShare: orNull(
      Type.Number({ minimum: 0, maximum: 1 }),
      'The share of these days during which the fare was bookable, of the time in which it was known to be bookable or not. ' +
        'Null if it was never known, and while the watch is paused.',
    ),
  },
  { title: 'WatchStrip' },
)

const Position = Type.String({ maxLength: 200 })
const referenceOf = ({ reference }: { readonly reference: string }) => reference
const cursors = cursorsOf('watch-strips', Position, referenceOf)

const listStrips = reseller({
  id: 'listWatchStrips',
  method: 'GET',
  path: '/api/v1/watch-lists/{list}/strips',
  tag: TAG,
  summary: 'List what was believed of the watches of a list in the last days',
  scope: 'read',
  params: ListParams,
  query: object({
    days: Type.Integer({
      minimum: 1,
      maximum: MAX_DAYS,
      default: 7,
      description: 'How many days back.',
    }),
    watchIds: Type.Optional(
      Type.Array(Type.String({ format: 'uuid' }), {
        minItems: 1,
        maxItems: 200,
        description: 'Only these watches.',
      }),
    ),
    ...pageParameters({ preset: 100, max: 200 }),
  }),
  answer: { about: 'A page of watches by reference, with their intervals.', schema: pageOf(Strip) },
  problems: ['not_found', 'request.invalid_cursor'],
  example: { params: { list: A_1.list }, query: { limit: '1' } },
  handler: async ({ db, resellerId, resellerName }, { params: { list }, query }) => {
    const { days, watchIds } = query
    await orNotFound(requireWatchList({ db, resellerId }, list))
    const shown = { resellerId, list, days, watchIds }
    const bound = [resellerName, list, days, watchIds ?? null]
    return cursors.page(query, (page) => readStrips(db, { ...shown, ...page }), bound)
  },
})

interface StripRow extends Omit<Static<typeof Strip>, 'intervals'> {
  /** As JSON, so that instants are texts. */
  readonly intervals: readonly PricedRow<
    Omit<Static<typeof StripInterval>, 'validFrom' | 'validTo'> & {
      readonly validFrom: string
      readonly validTo: string | null
    }
  >[]
}

interface StripsPage {
  readonly resellerId: ResellerId
  readonly list: string
  readonly days: number
  readonly watchIds: readonly string[] | undefined
  readonly after: string | undefined
  readonly limit: number
}

async function readStrips(db: Db, page: StripsPage) {
  const { rows } = await sql<StripRow>`
    select w.reference, w.id as "watchId", coalesce(v.intervals, '[]') as intervals,
           round((coalesce(v.bookable, 0) / nullif(v.known, 0))::numeric, 3)::float8 as "bookableShare"
      from watch_list l
     cross join lateral (
           select *
             from watch
            where watch.watch_list_id = l.id and watch.reseller_id = l.reseller_id
              and watch.reference > ${page.after ?? ''}
              and ${page.watchIds === undefined ? sql`true` : sql`watch.id = any(${page.watchIds}::uuid[])`}
            order by watch.reference
            limit ${page.limit}) w
      join reseller r on r.id = w.reseller_id
     cross join lateral (
           select greatest(w.began_at, clock_timestamp() - make_interval(days => ${page.days})) as since) s
      left join lateral (
           select jsonb_agg(jsonb_build_object(
                    'validFrom', b.since, 'validTo', b.until, 'state', b.pair,
                    'price', b.price::text, 'currency', b.currency) order by b.since)
                    filter (where b.latest <= ${MAX_INTERVALS}) as intervals,
                  sum(b.seconds) filter (where b.pair = 'bookable') as bookable,
                  sum(b.seconds) filter (where b.pair <> 'unknown') as known
             from (select i.*, greatest(0, extract(epoch from coalesce(i.until, clock_timestamp()) - i.since))::float8 as seconds,
                          row_number() over (order by i.since desc) as latest
                     from (select greatest(valid_from, s.since) as since, least(valid_to, w.ended_at) as until,
                                  pair, price, currency
                             from fare_belief_version
                            where tracked_fare_id = w.tracked_fare_id
                              and (valid_to is null or valid_to > s.since)
                              and (w.ended_at is null or valid_from < w.ended_at)) i) b) v
           on w.paused_at is null and r.disabled_at is null
     where l.reseller_id = ${page.resellerId} and l.name = ${page.list}
     order by w.reference
  `.execute(db)
  return rows.map((row) => ({ ...row, intervals: row.intervals.map(withDates) }))
}

function withDates(row: StripRow['intervals'][number]) {
  const { validFrom, validTo, ...interval } = withPrice(row)
  return {
    ...interval,
    validFrom: new Date(validFrom),
    validTo: validTo === null ? null : new Date(validTo),
  }
}

/** The history of a reseller's watches, and short histories of many at a time. */
export const WATCH_HISTORY_OPERATIONS = [timeline, prices, listStrips]
