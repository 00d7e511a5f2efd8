import { Type } from 'typebox'
import { PAIR_STATES, type PairState } from '../platform/base/kinds.ts'
import type { ResellerId } from '../platform/base/reseller-id.ts'
import { type Db, sql } from '../platform/db/database.ts'
import { operations } from '../platform/http/operation.ts'
import { cursorsOf, pageOf, pageParameters } from '../platform/http/pages.ts'
import { instant, object, oneOf, orNull } from '../platform/http/schemas.ts'
import { ListParams, orNotFound } from '../watches/operations/watch-list-operations.ts'
import { requireWatchList } from '../watches/watch-lists.ts'

const { reseller } = operations<{ readonly db: Db }>()

const MAX_DAYS = 60
/** The latest intervals of a watch that one answer carries. A fare that changes more often is shown for a shorter time. */
const MAX_INTERVALS = 200

const StripInterval = object(
  {
    from: instant('Not before the watch began, nor before the days that were asked for.'),
    to: orNull(instant(), 'Null while it holds.'),
    pair: oneOf(PAIR_STATES, { title: 'PairState' }),
    price: orNull(Type.String()),
    currency: orNull(Type.String()),
  },
  { title: 'StripInterval' },
)

const Strip = object(
  {
    reference: Type.String(),
    watchId: Type.String(),
    intervals: Type.Array(StripInterval, {
      maxItems: MAX_INTERVALS,
      description: `What was believed, oldest first; the latest ${MAX_INTERVALS} intervals. None while the watch is paused.`,
    }),
  },
  { title: 'WatchStrip' },
)

const cursors = cursorsOf('watch-strips', Type.String({ maxLength: 200 }))

const listStrips = reseller({
  id: 'listWatchStrips',
  method: 'GET',
  path: '/api/v1/watch-lists/{list}/strips',
  tag: 'Watches',
  summary: 'List what was believed of the watches of a list in the last days',
  scope: 'read',
  params: ListParams,
  query: object({
    days: Type.Integer({ minimum: 1, maximum: MAX_DAYS, default: 7 }),
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
  example: { params: { list: 'summer' }, query: { limit: '1' } },
  handler: async ({ db, resellerId, resellerName }, { params: { list }, query }) => {
    const { limit, cursor, days, watchIds } = query
    const bound = [resellerName, list, days, watchIds ?? null]
    const after = cursors.read(cursor, bound)
    await orNotFound(requireWatchList({ db, resellerId }, list))
    const page = { resellerId, list, days, watchIds, after, limit: limit + 1 }
    const strips = await readStrips(db, page)
    return cursors.page(strips, { limit, bound, positionOf: ({ reference }) => reference })
  },
})

interface StripRow {
  readonly reference: string
  readonly watchId: string
  readonly intervals: {
    readonly from: string
    readonly to: string | null
    readonly pair: PairState
    readonly price: string | null
    readonly currency: string | null
  }[]
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
    select w.reference, w.id as "watchId", coalesce(v.intervals, '[]') as intervals
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
                    'from', greatest(b.valid_from, s.since), 'to', least(b.valid_to, w.ended_at), 'pair', b.pair,
                    'price', b.price::text, 'currency', b.currency) order by b.valid_from) as intervals
             from (select * from fare_belief_version
                    where tracked_fare_id = w.tracked_fare_id
                      and (valid_to is null or valid_to > s.since)
                      and (w.ended_at is null or valid_from < w.ended_at)
                    order by valid_from desc
                    limit ${MAX_INTERVALS}) b) v
           on w.paused_at is null and r.disabled_at is null
     where l.reseller_id = ${page.resellerId} and l.name = ${page.list}
     order by w.reference
  `.execute(db)
  return rows.map((row) => ({ ...row, intervals: row.intervals.map(withDates) }))
}

function withDates({ from, to, ...interval }: StripRow['intervals'][number]) {
  return { ...interval, from: new Date(from), to: to === null ? null : new Date(to) }
}

/** Short histories of many watches at a time. */
export const WATCH_STRIP_OPERATIONS = [listStrips]
