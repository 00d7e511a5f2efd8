import { readWatchFeedBounds } from '../feeds/watch-feed-queries.ts'
import type { PairState, PriceReason } from '../platform/base/kinds.ts'
import type { ResellerId } from '../platform/base/reseller-id.ts'
import { type Db, sql, type Tx } from '../platform/db/database.ts'
import { databaseNow } from '../platform/db/transaction.ts'
import {
  findWatch,
  listWatches,
  requireWatchList,
  type Watch,
  type WatchPosition,
} from '../watches/watch-lists.ts'
import { viewOfWatch, type WatchFacts, type WatchView } from './watch-view-shapes.ts'

interface ViewedWatch {
  readonly watch: Watch
  readonly view: WatchView
}

interface ViewArgs {
  readonly resellerId: ResellerId
  readonly minRecheckSeconds: number
}

/** Adds the views to a reseller's watches. Leaves out watches that were deleted in the meantime. */
async function viewWatches(
  db: Db,
  { resellerId, minRecheckSeconds }: ViewArgs,
  watches: readonly Watch[],
): Promise<ViewedWatch[]> {
  const ids = watches.map(({ id }) => id)
  const factsOf = await readWatchFacts(db, resellerId, ids)
  return watches.flatMap((watch) => {
    const facts = factsOf.get(watch.id)
    if (facts === undefined) return []
    return [{ watch, view: viewOfWatch(watch, facts, { minRecheckSeconds }) }]
  })
}

/** Reads what the views of a reseller's watches are made of, by the watches' ids. */
async function readWatchFacts(
  db: Db,
  resellerId: number,
  watchIds: readonly string[],
): Promise<ReadonlyMap<string, WatchFacts>> {
  const rows = await db
    .selectFrom('watch as w')
    .innerJoin('reseller as r', 'r.id', 'w.reseller_id')
    .innerJoin('tracked_fare as f', 'f.id', 'w.tracked_fare_id')
    .leftJoin('fare_state as s', 's.tracked_fare_id', 'w.tracked_fare_id')
    .leftJoin('fare_schedule as q', 'q.tracked_fare_id', 'w.tracked_fare_id')
    .leftJoinLateral(lastBookable, (join) => join.onTrue())
    .select(['w.id as watchId', 's.asked_at as askedAt', 's.last_good_check_at as lastGoodCheckAt'])
    .select(['s.last_reason as lastReason', 's.last_check_why as lastCheckWhy', 'q.lane'])
    .select('q.lane_due_at as laneDueAt')
    .select(['w.started_at as startedAt', 's.departs_at as departsAt'])
    .select(['s.price_checked_at as priceCheckedAt', 's.ever_available_at as everAvailableAt'])
    .select(['s.price_reason as shownPriceReason', 's.hidden as hiddenReason'])
    .select(['s.contradicted_since as contradictedSince', 's.held_since as heldSince'])
    .select(['last.amount as lastAmount', 'last.currency as lastCurrency'])
    .select('last.at as lastBookableAt')
    .select(({ fn }) => [
      sql<object | null>`s.state`.as('state'),
      sql<boolean>`f.return_flight_id is not null`.as('hasReturn'),
      sql<PriceReason | null>`nullif(s.price_reason, 'held')`.as('priceReason'),
      fn.coalesce('s.expired_at', 'w.ended_at').as('endedAt'),
      sql<boolean>`r.disabled_at is not null`.as('resellerDisabled'),
      sql<number>`
        extract(epoch from fresh_for(coalesce(q.rates[array_position(f.resellers, w.reseller_id)], q.rate)))::float8
      `.as('freshSeconds'),
      sql<Date>`clock_timestamp()`.as('now'),
    ])
    .where('w.reseller_id', '=', resellerId)
    .where(sql<boolean>`w.id = any(${watchIds}::uuid[])`)
    .execute()
  return new Map(rows.map((row) => [row.watchId, row]))
}

/**
 * The last time since watch `w` began that its fare, with state `s`, was bookable. Read only where the view may need it:
 * of a bookable fare the belief shows the price. Its row is found by the index alone, without a sort: 15 ms for a
 * thousand sold-out watches.
 */
const lastBookable = sql<{ amount: string | null; currency: string | null; at: Date }>`(
  select b.price::text as amount, b.currency,
         least(coalesce(b.price_checked_at, case when b.valid_to is null then s.price_checked_at end, b.valid_from), w.ended_at) as at
    from fare_belief_version b
   where b.tracked_fare_id = w.tracked_fare_id
     and b.valid_from = (
           select v.valid_from
             from fare_belief_version v
            where v.tracked_fare_id = w.tracked_fare_id and v.pair = 'bookable'
              and (s.pair <> 'bookable' or s.expired_at is not null or w.ended_at is not null)
              and (v.valid_to is null or v.valid_to > w.began_at)
              and (w.ended_at is null or v.valid_from < w.ended_at)
            order by v.valid_from desc
            limit 1)
)`.as<'last'>(sql.ref('last'))

/**
 * Finds a reseller's watch with its view, both from one snapshot of the database: between two statements its question
 * could change, and the view would be of another fare.
 */
export async function viewWatch(
  db: Db,
  args: ViewArgs,
  position: WatchPosition,
): Promise<ViewedWatch | undefined> {
  return db
    .transaction()
    .setIsolationLevel('repeatable read')
    .setAccessMode('read only')
    .execute(async (tx) => {
      const watch = await findWatch({ db: tx, resellerId: args.resellerId }, position)
      if (watch === undefined) return undefined
      const [viewed] = await viewWatches(tx, args, [watch])
      return viewed
    })
}

interface StatesArgs extends ViewArgs {
  /** Unset: all lists of the reseller. */
  readonly list?: string | undefined
  readonly filter: StateFilter
}

/** Which states are shown. A condition that is unset passes all. */
export interface StateFilter {
  readonly status?: readonly WatchView['status'][] | undefined
  readonly pair?: readonly PairState[] | undefined
  readonly place?: string | undefined
  readonly departsFrom?: string | undefined
  readonly departsThrough?: string | undefined
}

/** When the snapshot was taken, and the head of the reseller's feed at that moment. */
interface SnapshotMoment {
  readonly seq: number
  readonly takenAt: Date
}

const PAGE_ROWS = 1_000

/**
 * Reads all states of a list, or of all lists, and the head of the feed in one snapshot. A check writes beliefs and
 * records in one transaction, so a reader of the states who follows the feed after `seq` misses nothing and
 * receives nothing twice. Yields the moment first, then pages of states. Throws UnknownWatchListError.
 */
async function* readStates(
  db: Db,
  args: StatesArgs,
): AsyncGenerator<SnapshotMoment | ViewedWatch[]> {
  const tx = await db
    .startTransaction()
    .setIsolationLevel('repeatable read')
    .setAccessMode('read only')
    .execute()
  try {
    const { resellerId, list } = args
    const takenAt = await databaseNow(tx)
    if (list !== undefined) await requireWatchList({ db: tx, resellerId }, list)
    const { head: seq } = await readWatchFeedBounds(tx, resellerId)
    yield { seq, takenAt }
    const places = await findCodes(tx, args.filter.place)
    for await (const page of readPages(tx, args)) {
      yield page.filter((viewed) => passes(viewed, args.filter, places))
    }
  } finally {
    await tx.rollback().execute()
  }
}

async function* readPages(tx: Tx, args: StatesArgs): AsyncGenerator<ViewedWatch[]> {
  const { resellerId, list } = args
  let after: WatchPosition | undefined
  do {
    const watches = await listWatches(tx, resellerId, { list, after, limit: PAGE_ROWS })
    if (watches.length > 0) yield await viewWatches(tx, args, watches)
    after = watches.length === PAGE_ROWS ? watches.at(-1)?.entry : undefined
  } while (after !== undefined)
}

/** The airport codes that a place of a filter means: itself if it is one, or those of the cities that begin so. */
async function findCodes(tx: Tx, place: string | undefined): Promise<ReadonlySet<string>> {
  if (place === undefined) return new Set()
  const { rows } = await sql<{ iata: string; exact: boolean }>`
    select iata, upper(iata) = upper(${place}) as exact
      from place_version
     where valid_to is null and iata <> ''
       and (upper(iata) = upper(${place}) or starts_with(lower(city), lower(${place})))
  `.execute(tx)
  const exact = rows.filter((row) => row.exact)
  return new Set([
    place.toUpperCase(),
    ...(exact.length > 0 ? exact : rows).map(({ iata }) => iata),
  ])
}

/** The flights are those of the belief, or the last ones that are known: a sold-out fare passes as it did before. */
function passes(
  { watch, view }: ViewedWatch,
  { status, pair, place, departsFrom, departsThrough }: StateFilter,
  codes: ReadonlySet<string>,
): boolean {
  const { belief, lastFlight } = view
  const outbound = belief.outbound.flight ?? lastFlight?.outbound
  const flights = [outbound, belief.return?.flight ?? lastFlight?.return]
  const day = outbound?.departsAt.slice(0, 10) ?? watch.entry.departsOn ?? undefined
  return (
    (status === undefined || status.includes(view.status)) &&
    (pair === undefined || pair.includes(belief.pair)) &&
    (place === undefined ||
      flights.some((flight) => flight && (codes.has(flight.from) || codes.has(flight.to)))) &&
    (departsFrom === undefined || (day !== undefined && day >= departsFrom)) &&
    (departsThrough === undefined || (day !== undefined && day <= departsThrough))
  )
}

/** Yields the result of `readStates` as the text of one JSON object. Throws UnknownWatchListError. */
export async function* statesText(db: Db, args: StatesArgs): AsyncGenerator<string> {
  let separator = ''
  for await (const part of readStates(db, args)) {
    if (!Array.isArray(part)) {
      yield `${JSON.stringify(part).slice(0, -1)},"watches":[`
      continue
    }
    for (const { watch, view } of part) {
      const { list, reference, question } = watch.entry
      const { flightId, returnFlightId } = question
      const subject = { list, reference, watchId: watch.id, flightId, returnFlightId }
      yield separator + JSON.stringify({ ...subject, ...view })
      separator = ','
    }
  }
  yield ']}\n'
}
