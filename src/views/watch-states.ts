import type { Flight } from '../feeds/change-shapes.ts'
import { readFeedBounds } from '../feeds/feed-bounds.ts'
import type { BeliefState } from '../platform/base/kinds.ts'
import type { ResellerId } from '../platform/base/reseller-id.ts'
import { createFairSemaphore } from '../platform/base/semaphore.ts'
import { type Db, sql, type Tx } from '../platform/db/database.ts'
import { databaseNow } from '../platform/db/transaction.ts'
import { readOwnPaces } from '../schedule/turn-shapes.ts'
import { settingsOf } from '../watches/operations/watch-operations.ts'
import {
  listWatches,
  requireWatchList,
  type Watch,
  type WatchPosition,
} from '../watches/watch-lists.ts'
import { readWatchFacts } from './watch-facts.ts'
import { type ShownWatch, viewOfWatch, type WatchView } from './watch-view-shapes.ts'

interface ViewedWatch {
  readonly watch: Watch
  readonly view: WatchView
}

interface ViewArgs {
  readonly resellerId: number
  readonly minRecheckSeconds: number
}

/** The reseller of a request, not one that a request names. */
interface OfRequest {
  readonly resellerId: ResellerId
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

/** Adds how often their fares are checked. */
async function showWatches(
  db: Db,
  { resellerId, minRecheckSeconds }: ViewArgs,
  viewed: readonly ViewedWatch[],
): Promise<ShownWatch[]> {
  const checked = viewed.filter(({ view }) => view.next !== null)
  const fareIds = [...new Set(checked.flatMap(({ watch }) => watch.trackedFareId ?? []))]
  const args = { resellerId, fareIds, now: new Date(), minRecheckSeconds }
  const paces = await readOwnPaces(db, args)
  return viewed.map(({ watch, view }) => {
    const pace = view.next === null ? null : (paces.get(watch.trackedFareId ?? 0) ?? null)
    return { ...settingsOf(watch), ...view, pace }
  })
}

interface NamedWatches {
  readonly list: string
  readonly references: readonly string[]
}

/**
 * Shows the watches of a list that have these references, by reference. All is from one snapshot of the database: between
 * two statements the question of a watch could change, and the view would be of another fare.
 */
export async function showNamed(
  db: Db,
  args: ViewArgs & OfRequest,
  { list, references }: NamedWatches,
): Promise<ShownWatch[]> {
  return inSnapshot(db, async (tx) => {
    const page = { list, references, limit: references.length }
    const watches = await listWatches(tx, args.resellerId, page)
    return showWatches(tx, args, await viewWatches(tx, args, watches))
  })
}

interface StatesArgs extends ViewArgs {
  /** Unset: all lists of the reseller. */
  readonly list?: string | undefined
  readonly filter: WatchFilter
}

interface PassingArgs extends StatesArgs {
  /** The last watch before the first page. */
  readonly after?: WatchPosition | undefined
}

/** Which watches are shown. A condition that is unset passes all. */
interface WatchFilter {
  readonly status?: readonly WatchView['status'][] | undefined
  readonly state?: readonly BeliefState[] | undefined
  readonly place?: string | undefined
  readonly departsFrom?: string | undefined
  readonly departsTo?: string | undefined
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
): AsyncGenerator<SnapshotMoment | ShownWatch[]> {
  const tx = await db
    .startTransaction()
    .setIsolationLevel('repeatable read')
    .setAccessMode('read only')
    .execute()
  try {
    const { resellerId, list } = args
    const takenAt = await databaseNow(tx)
    if (list !== undefined) await requireWatchList({ db: tx, resellerId }, list)
    const { head } = await readFeedBounds(tx, resellerId)
    yield { seq: head, takenAt }
    for await (const page of passingPages(tx, args)) yield await showWatches(tx, args, page)
  } finally {
    await tx.rollback().execute()
  }
}

/** Reads the watches of a list, or of all lists, that pass the filter. Its transaction must be of one snapshot. */
async function* passingPages(
  tx: Tx,
  { after, ...args }: PassingArgs,
  rows = PAGE_ROWS,
): AsyncGenerator<ViewedWatch[]> {
  const { resellerId, list, filter } = args
  const codes = await findCodes(tx, filter.place)
  let last = after
  do {
    const watches = await listWatches(tx, resellerId, { list, after: last, limit: rows })
    const viewed = await viewWatches(tx, args, watches)
    yield viewed.filter((one) => passes(one, filter, codes))
    last = watches.length === rows ? watches.at(-1)?.entry : undefined
  } while (last !== undefined)
}

/** Reads a page of the watches that pass the filter. */
export async function listPassing(
  db: Db,
  args: StatesArgs & OfRequest,
  { after, limit }: { readonly after: WatchPosition | undefined; readonly limit: number },
): Promise<ShownWatch[]> {
  return reading(args.resellerId, () =>
    inSnapshot(db, async (tx) => {
      // Without a filter a page needs no more watches than it shows.
      const rows = isFiltered(args.filter) ? PAGE_ROWS : Math.min(limit, PAGE_ROWS)
      const found = await collect(passingPages(tx, { ...args, after }, rows), limit)
      return showWatches(tx, args, found)
    }),
  )
}

function isFiltered(filter: WatchFilter): boolean {
  return Object.values(filter).some((condition) => condition !== undefined)
}

async function collect<T>(pages: AsyncIterable<readonly T[]>, limit: number): Promise<T[]> {
  const found: T[] = []
  for await (const page of pages) {
    found.push(...page)
    if (found.length >= limit) break
  }
  return found.slice(0, limit)
}

/**
 * Only two transactions at a time read the states of lists, so that connections remain for other requests, and of a
 * reseller one: a page of a thousand watches takes the processor for a tenth of a second.
 */
export const reading = createFairSemaphore(2)

/** Runs reads that see the database at one moment. */
function inSnapshot<T>(db: Db, read: (tx: Tx) => Promise<T>): Promise<T> {
  // The caller's transaction has locked the watches, so they do not change between its statements.
  if (db.isTransaction) return read(db as Tx)
  return db
    .transaction()
    .setIsolationLevel('repeatable read')
    .setAccessMode('read only')
    .execute(read)
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
  { status, state, place, departsFrom, departsTo }: WatchFilter,
  codes: ReadonlySet<string>,
): boolean {
  const { belief, lastFlight } = view
  const outbound = belief.outbound.flight ?? lastFlight?.outbound
  const flights = [outbound, belief.return?.flight ?? lastFlight?.return]
  const { route } = watch.entry
  const ends = [
    ...flights.flatMap((flight) => (flight ? endsOf(flight) : [])),
    ...(route === null ? [] : [route.departure, route.destination]),
  ]
  const day = outbound?.departure.localTime.slice(0, 10) ?? watch.entry.departsOn ?? undefined
  return (
    (status === undefined || status.includes(view.status)) &&
    (state === undefined || state.includes(belief.state)) &&
    (place === undefined || ends.some((iata) => codes.has(iata))) &&
    (departsFrom === undefined || (day !== undefined && day >= departsFrom)) &&
    (departsTo === undefined || (day !== undefined && day <= departsTo))
  )
}

function endsOf({ departure, arrival }: Flight): string[] {
  return [departure.place.iata, arrival.place.iata].flatMap((iata) => iata ?? [])
}

/** Yields the result of `readStates` as the text of one JSON object. Throws UnknownWatchListError. */
export async function* statesText(db: Db, args: StatesArgs & OfRequest): AsyncGenerator<string> {
  let separator = ''
  for await (const part of readStates(db, args)) {
    if (!Array.isArray(part)) {
      yield `${JSON.stringify(part).slice(0, -1)},"watches":[`
      continue
    }
    for (const watch of part) {
      yield separator + JSON.stringify(watch)
      separator = ','
    }
  }
  yield ']}\n'
}
