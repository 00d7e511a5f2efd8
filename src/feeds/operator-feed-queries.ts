import { gunzipSync } from 'node:zlib'
import type { RouteChangeKind } from '../platform/base/change-kinds.ts'
import { type Db, type RawBuilder, sql } from '../platform/db/database.ts'
import { QUESTION_SELECTION } from '../upstream/question-sql.ts'
import type { AvailabilityChange, Belief, ChangeEvidence, RouteChange } from './change-shapes.ts'
import {
  endOfPage,
  type FeedBounds,
  isFiltered,
  linkToPrevious,
  readFeedBounds,
  startAfter,
} from './feed-bounds.ts'
import { publicFare } from './public-fare.ts'

/** The records after a number, in order. */
export async function readAvailabilityChanges(
  db: Db,
  { after, limit }: { after: number; limit: number },
): Promise<AvailabilityChange[]> {
  const rows = await shown(db).where('c.seq', '>', after).orderBy('c.seq').limit(limit).execute()
  return rows.map(toAvailabilityChange)
}

interface PageArgs {
  /** If unset, the page begins with the first record of the feed. */
  readonly after?: number | undefined
  readonly limit: number
}

/** The page of the feed of all fares after a number. Throws the problem of a number outside of the feed. */
export async function readAvailabilityPage(db: Db, { after: given, limit }: PageArgs) {
  // The head is read first: every record up to it is committed.
  const bounds = await readFeedBounds(db, 'availability', given)
  const { first, head } = bounds
  const after = startAfter(bounds, given)
  const items = await readAvailabilityChanges(db, { after, limit })
  const last = items.at(-1)?.seq ?? after
  const seq = items.length === limit ? last : Math.max(head, last)
  return { items, seq, first, head: Math.max(head, seq) }
}

/** The last records of a fare, newest first. */
export async function readChangesOfFare(
  db: Db,
  fareId: number,
  limit: number,
): Promise<AvailabilityChange[]> {
  const rows = await shown(db)
    .where('c.tracked_fare_id', '=', fareId)
    .orderBy('c.seq', 'desc')
    .limit(limit)
    .execute()
  return rows.map(toAvailabilityChange)
}

function toAvailabilityChange<Row extends { readonly before: unknown; readonly after: unknown }>(
  row: Row,
) {
  const [before, after] = [publicFare(row.before) as Belief, publicFare(row.after) as Belief]
  return { ...row, before, after }
}

function shown(db: Db) {
  return db
    .selectFrom('availability_change as c')
    .innerJoin('tracked_fare as f', 'f.id', 'c.tracked_fare_id')
    .select([
      'c.seq',
      'c.id',
      'c.kind',
      'c.reason',
      'c.tracked_fare_id as fareId',
      ...QUESTION_SELECTION,
      'c.before',
      'c.after',
      'c.last_good_check_at as lastGoodCheckAt',
      'c.detected_at as detectedAt',
      'c.held_since as heldSince',
      'c.recorded_at as recordedAt',
    ])
}

/** The evidence of a record in the feed of all fares. Undefined if there is no such record. */
export function findChangeEvidence(db: Db, seq: number): Promise<ChangeEvidence | undefined> {
  return readEvidence(
    db,
    sql`select c.id as change_id from availability_change c where c.seq = ${seq}`,
  )
}

/** The evidence of a record in a reseller's feed. Undefined if its feed has no such record. */
export function findWatchChangeEvidence(
  db: Db,
  resellerId: number,
  seq: number,
): Promise<ChangeEvidence | undefined> {
  return readEvidence(
    db,
    sql`select w.change_id from watch_change w where w.reseller_id = ${resellerId} and w.seq = ${seq}`,
  )
}

async function readEvidence(
  db: Db,
  record: RawBuilder<unknown>,
): Promise<ChangeEvidence | undefined> {
  const { rows } = await sql<Omit<ChangeEvidence, 'answer'> & { readonly body: Buffer | null }>`
    select (c.provenance ->> 'status')::int as status, (c.provenance ->> 'latencyMs')::float8 as "latencyMs", e.body
      from (${record}) r
      left join availability_change c on c.id = r.change_id
      left join evidence e on e.hash = c.evidence_hash
  `.execute(db)
  const [found] = rows
  if (found === undefined) return undefined
  const { body, ...call } = found
  return { ...call, answer: body === null ? null : gunzipSync(body).toString('utf8') }
}

/** Which records pass. A condition that is absent passes all. */
interface RouteChangeFilter {
  readonly kinds?: readonly RouteChangeKind[] | undefined
  /** Changes of these places, and of routes from and to them. */
  readonly places?: readonly string[] | undefined
  /** Recorded at this instant or later. */
  readonly from?: Date | undefined
  /** Recorded before this instant. */
  readonly to?: Date | undefined
}

type UnlinkedChange = Omit<RouteChange, 'previous'>

/** Records that one request reads, whether or not they pass the filters. It bounds the time of a request. */
const READ_AT_MOST = 100_000

/** The page of the feed of routes after a number. Throws the problem of a number outside of the feed. */
export async function readRoutePage(
  db: Db,
  { after: given, limit, ...filter }: PageArgs & RouteChangeFilter,
) {
  const before = await readFeedBounds(db, 'route', given)
  const after = startAfter(before, given)
  const through = isFiltered(filter) ? after + READ_AT_MOST : before.head
  const { changes, first, head } = await readRouteChanges(db, { after, through, limit, ...filter })
  // Records after it may have been archived since.
  startAfter({ ...before, first }, after)
  const last = changes.length === limit ? changes.at(-1)?.seq : undefined
  const linked = { filter, after }
  return {
    items: await linkToPrevious(changes, linked, () => findRouteChangeUpTo(db, linked)),
    seq: last ?? (await endOfPage(db, 'route', { through, head })),
    first,
    head,
  }
}

/** What `before` and `after` are of. */
const TYPE = sql`jsonb_build_object('type', case when place_id is null then 'route' else 'place' end)`

type Ends = Pick<FeedBounds, 'first' | 'head'>

interface RouteChangePage extends RouteChangeFilter {
  readonly after: number
  /** Records beyond it are not read. */
  readonly through: number
  readonly limit: number
}

/**
 * The records after a number, up to another, that pass a filter, in order; and the bounds of the feed as they were
 * at the same moment.
 */
export async function readRouteChanges(
  db: Db,
  { after, through, limit, ...filter }: RouteChangePage,
): Promise<Ends & { readonly changes: UnlinkedChange[] }> {
  const { rows } = await sql<Ends & (UnlinkedChange | { readonly seq: null })>`
    select h.first_seq as first, h.last_seq as head, c.*
      from feed_head h
      left join lateral (
           select seq, id, kind, departure_id as "departureId", destination_id as "destinationId",
                  place_id as "placeId", before || ${TYPE} as before, after || ${TYPE} as after, last_seen_at as "lastSeenAt",
                  first_missed_at as "firstMissedAt", recorded_at as "recordedAt", sync_run_id as "runId"
             from route_change
            where seq > ${after} and seq <= ${through} and ${passing(filter)}
            order by seq
            limit ${limit}) c on true
     where h.feed = 'route'
     order by c.seq
  `.execute(db)
  const changes = rows.flatMap(({ first: _first, head: _head, ...change }) =>
    change.seq === null ? [] : [change],
  )
  const { first = 1, head = 0 } = rows[0] ?? {}
  return { first, head, changes }
}

/** The record before the first one of a page is searched among so many records. A page searches as many. */
const READ_BEFORE = 100_000

/**
 * The last number, up to a given one, whose record passes a filter; 0 where none of the hundred thousand up to it in its
 * generation does.
 */
async function findRouteChangeUpTo(
  db: Db,
  { filter, after }: { readonly filter: RouteChangeFilter; readonly after: number },
): Promise<number> {
  const { rows } = await sql<{ seq: number }>`
    select seq
      from route_change
     where seq > ${after - READ_BEFORE} and seq <= ${after} and ${passing(filter)}
     order by seq desc
     limit 1
  `.execute(db)
  return rows[0]?.seq ?? 0
}

function passing({ kinds, places, from, to }: RouteChangeFilter): RawBuilder<unknown> {
  const conditions = [
    ...(kinds === undefined ? [] : [sql`kind = any(${kinds}::text[])`]),
    ...(places === undefined ? [] : [ofPlaces(places)]),
    ...(from === undefined ? [] : [sql`recorded_at >= ${from}`]),
    ...(to === undefined ? [] : [sql`recorded_at < ${to}`]),
  ]
  return conditions.length === 0 ? sql`true` : sql.join(conditions, sql` and `)
}

function ofPlaces(places: readonly string[]): RawBuilder<unknown> {
  const among = sql`any(${places}::text[])`
  return sql`(departure_id = ${among} or destination_id = ${among} or place_id = ${among})`
}
