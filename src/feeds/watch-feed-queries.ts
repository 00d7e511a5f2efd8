import type { WatchChangeKind } from '../platform/base/change-kinds.ts'
import type { ChangeReason } from '../platform/base/kinds.ts'
import { type Db, PREPARED, sql } from '../platform/db/database.ts'
import { QUESTION_SELECTION } from '../upstream/question-sql.ts'
import {
  endOfPage,
  type FeedBounds,
  isFiltered,
  linkToPrevious,
  readFeedBounds,
  startAfter,
} from './feed-bounds.ts'
import type { ShownRoute } from './watch-change-shapes.ts'
import { FACT_COLUMNS, type FeedRecord, type PriceContext, toFeedRecord } from './watch-record.ts'

/** Where a feed is read, and under which address its watches are shown. */
export interface FeedSource {
  readonly db: Db
  /** The address of the page; undefined if it is not known. */
  readonly publicUrl?: string | undefined
}

/** Which records of a feed pass. A condition that is absent passes all. */
export interface WatchChangeFilter {
  readonly kinds?: readonly WatchChangeKind[] | undefined
  readonly list?: string | undefined
  readonly reference?: string | undefined
  readonly flightId?: string | undefined
}

export interface WatchChangePage {
  readonly after: number
  /** Records beyond it are not read. */
  readonly through?: number | undefined
  readonly limit: number
  readonly filter?: WatchChangeFilter | undefined
}

/** A reseller's records after a number of its feed, in order. */
export async function readWatchChanges(
  { db, publicUrl }: FeedSource,
  resellerId: number,
  { after, through, limit, filter = {} }: WatchChangePage,
): Promise<FeedRecord[]> {
  const rows = await shown(passing(db, resellerId, filter))
    .where('w.seq', '>', after)
    .$if(through !== undefined, (query) => query.where('w.seq', '<=', through ?? 0))
    .orderBy('w.seq')
    .limit(limit)
    .execute()
  return rows.map((row) => toFeedRecord(row, publicUrl))
}

/** The place of a record: the number in the feed of a reseller. */
interface RecordPlace {
  readonly resellerId: number
  readonly seq: number
}

/** The records of these places, of any feeds and in no order. */
export async function readRecords(
  { db, publicUrl }: FeedSource,
  places: readonly RecordPlace[],
): Promise<(FeedRecord & Pick<RecordPlace, 'resellerId'>)[]> {
  const rows = await shown(records(db))
    .select('w.reseller_id as resellerId')
    .where(
      sql<boolean>`(w.reseller_id, w.seq) in (
        select * from unnest(${places.map(({ resellerId }) => resellerId)}::bigint[],
                             ${places.map(({ seq }) => seq)}::bigint[]))`,
    )
    .modifyEnd(PREPARED)
    .execute()
  return rows.map(({ resellerId, ...row }) => ({ ...toFeedRecord(row, publicUrl), resellerId }))
}

interface PassedBeforeArgs {
  readonly before: number
  readonly filter: WatchChangeFilter
}

/** The last number before another that passes a filter; 0 where none of the PREVIOUS_SPAN before it in its generation does. */
async function findPassedBefore(
  db: Db,
  resellerId: number,
  { before, filter }: PassedBeforeArgs,
): Promise<number> {
  const found = await passing(db, resellerId, filter)
    .select('w.seq')
    .where('w.seq', '>', before - 1 - PREVIOUS_SPAN)
    .where('w.seq', '<', before)
    .orderBy('w.seq', 'desc')
    .limit(1)
    .executeTakeFirst()
  return found?.seq ?? 0
}

/** Null only of a deleted watch, in a record from before records kept the name. */
const LIST = sql<string | null>`coalesce(l.name, w.list)`

const KIND = sql<WatchChangeKind>`coalesce(c.kind, e.kind, n.kind)`

/** The records of all feeds: `w`, with its change `c`, event `e` or change of a route `n`, fare `f` and list `l`. */
function records(db: Db) {
  return db
    .selectFrom('watch_change as w')
    .leftJoin('availability_change as c', 'c.id', 'w.change_id')
    .leftJoin('watch_event as e', 'e.id', 'w.watch_event_id')
    .leftJoin('route_change as n', 'n.seq', 'w.route_seq')
    .leftJoin('tracked_fare as f', (join) =>
      join.on(({ eb, fn }) =>
        eb('f.id', '=', fn.coalesce('c.tracked_fare_id', 'e.tracked_fare_id')),
      ),
    )
    .leftJoin('watch as own', (join) =>
      join.onRef('own.id', '=', 'w.watch_id').onRef('own.reseller_id', '=', 'w.reseller_id'),
    )
    .leftJoin('watch_list as l', 'l.id', 'own.watch_list_id')
}

/** Selects what a reader of the feed sees of a record. */
function shown(query: ReturnType<typeof records>) {
  return query.select(({ fn, ref }) => [
    'w.seq',
    'w.watch_id as watchId',
    'w.reference',
    LIST.as('list'),
    KIND.as('kind'),
    sql<ChangeReason | null>`coalesce(${ref('c.reason')}, ${ref('e.reason')})`.as('reason'),
    sql<number>`coalesce(${ref('c.schema_version')}, ${ref('e.schema_version')}, 4)`.as(
      'schemaVersion',
    ),
    ...QUESTION_SELECTION,
    fn.coalesce('c.before', 'e.before', 'n.before').as('before'),
    fn.coalesce('c.after', 'e.after', 'n.after').as('after'),
    fn.coalesce('c.last_good_check_at', 'e.last_good_check_at').as('lastGoodCheckAt'),
    fn.coalesce('c.detected_at', 'e.detected_at', 'n.first_missed_at').$notNull().as('detectedAt'),
    'w.recorded_at as recordedAt',
    sql<ShownRoute | null>`n.route`.as('route'),
    'n.place_id as placeId',
    'n.sync_run_id as runId',
    'n.first_seen_at as firstSeenAt',
    ...PRICE_FACTS,
    FACT_COLUMNS.outbound.as('outbound'),
    FACT_COLUMNS.back.as('back'),
    FACT_COLUMNS.askedAt.as('askedAt'),
    FACT_COLUMNS.heldSince.as('heldSince'),
    FACT_COLUMNS.incident.as('incident'),
  ])
}

/** The records of a reseller's feed that pass a filter. */
function passing(db: Db, resellerId: number, filter: WatchChangeFilter) {
  const { kinds, list, reference, flightId } = filter
  return records(db)
    .where('w.reseller_id', '=', resellerId)
    .$if(kinds !== undefined, (query) => query.where(sql<boolean>`${KIND} = any(${kinds}::text[])`))
    .$if(list !== undefined, (query) => query.where(LIST, '=', list ?? ''))
    .$if(reference !== undefined, (query) => query.where('w.reference', '=', reference ?? ''))
    .$if(flightId !== undefined, (query) =>
      query.where((eb) =>
        eb.or([
          eb('f.flight_id', '=', flightId ?? ''),
          eb('f.return_flight_id', '=', flightId ?? ''),
        ]),
      ),
    )
}

/** What a record says of its price. */
const PRICE_FACTS = [
  'w.intents',
  'w.saving',
  'w.notified_amount as notifiedAmount',
  'w.notified_currency as notifiedCurrency',
  sql<PriceContext | null>`coalesce(c.context, e.context)`.as('context'),
] as const

/** A record with the number before it, so that a reader sees whether it missed one. */
export type LinkedChange = FeedRecord & {
  /** The last number before it that passes the same filter; 0 where none of the PREVIOUS_SPAN before it in its generation does. */
  readonly previous: number
}

export interface WatchFeedPage extends Pick<FeedBounds, 'first' | 'head'> {
  readonly items: LinkedChange[]
  /** The last number that was read: the next `after`. */
  readonly seq: number
}

export interface FollowArgs {
  readonly resellerId: number
  /** If unset, the page begins with the first record of the feed. */
  readonly after: number | undefined
  readonly limit: number
  readonly filter: WatchChangeFilter
}

/**
 * How many records a page reads at most, and as many again before its first. Where few pass a filter, the next
 * page goes on.
 */
const PREVIOUS_SPAN = 20_000

/**
 * The records of a reseller's feed after a number, as far as one page reads. The head is read first: every record
 * up to it is committed. Throws the problem of a number that is outside of the feed.
 */
export async function readFeedPage(
  source: FeedSource,
  { resellerId, after: given, limit, filter }: FollowArgs,
): Promise<WatchFeedPage> {
  const { db } = source
  const bounds = await readFeedBounds(db, resellerId, given)
  const after = startAfter(bounds, given)
  const { first, head } = bounds
  if (after >= head) return { items: [], seq: after, first, head }
  const through = isFiltered(filter) ? Math.min(head, after + PREVIOUS_SPAN) : head
  const rows = await readWatchChanges(source, resellerId, { after, through, limit, filter })
  const items = await linkToPrevious(rows, { filter, after }, (before) =>
    findPassedBefore(db, resellerId, { before, filter }),
  )
  const last = rows.length === limit ? rows.at(-1)?.seq : undefined
  const seq = last ?? (await endOfPage(db, resellerId, { through, head }))
  return { items, seq, first, head }
}
