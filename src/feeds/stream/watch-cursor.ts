import type { ResellerId } from '../../platform/base/reseller-id.ts'
import type { Db } from '../../platform/db/database.ts'
import { PREVIOUS_SPAN, readPageWithin } from '../watch-feed-page.ts'
import {
  findPassedBefore,
  readWatchFeedBounds,
  type WatchChange,
  type WatchChangeFilter,
} from '../watch-feed-queries.ts'
import { createFeedCursor, type FeedCursor } from './feed-cursor.ts'
import { type FeedTail, type FeedTails, PAGE_RECORDS, type RecordPage } from './feed-tail.ts'

/** What filters compare. */
export type WatchValue = Pick<
  WatchChange,
  'kind' | 'list' | 'reference' | 'flightId' | 'returnFlightId'
>

interface WatchCursorArgs {
  readonly resellerId: ResellerId
  readonly after: number
  readonly filter: WatchChangeFilter
  readonly tail: FeedTail<WatchValue>
  readonly tails: FeedTails<number, WatchValue>
}

/** The position of one stream in a reseller's feed. */
export function createWatchCursor(
  db: Db,
  { resellerId, after, filter, tail, tails }: WatchCursorArgs,
): FeedCursor {
  if (Object.values(filter).every((wanted) => wanted === undefined)) {
    return createFeedCursor({
      tail,
      after,
      numbersAreIds: true,
      readPage: (position) => tails.readBacklog(resellerId, position),
    })
  }
  const findPrevious = (before: number) => {
    const span = { after: before - 1 - PREVIOUS_SPAN, before }
    return tails.limitRead(() => findPassedBefore(db, resellerId, { ...span, filter }))
  }
  return createFeedCursor<WatchValue>({
    tail,
    after,
    readPage: (position) =>
      tails.limitRead(() => readWatchPage(db, resellerId, { after: position, filter })),
    filter: { passes: (value) => passes(filter, value), findPrevious, span: PREVIOUS_SPAN },
  })
}

/** The condition of `readWatchChanges` for a record in memory. */
function passes(filter: WatchChangeFilter, value: WatchValue): boolean {
  const { kinds, list, reference, flightId } = filter
  return (
    (kinds === undefined || kinds.includes(value.kind)) &&
    (list === undefined || list === value.list) &&
    (reference === undefined || reference === value.reference) &&
    (flightId === undefined || flightId === value.flightId || flightId === value.returnFlightId)
  )
}

/** One page of a reseller's feed, for streams. */
export async function readWatchPage(
  db: Db,
  resellerId: number,
  { after, filter }: { readonly after: number; readonly filter: WatchChangeFilter },
): Promise<RecordPage<WatchValue>> {
  const bounds = await readWatchFeedBounds(db, resellerId)
  const page = { resellerId, after, limit: PAGE_RECORDS, filter }
  const { items, seq, first, head } = await readPageWithin(db, bounds, page)
  const records = items.map(({ previous: _previous, ...change }) => {
    const { kind, list, reference, flightId, returnFlightId } = change
    const value = { kind, list, reference, flightId, returnFlightId }
    return { seq: change.seq, kind, json: JSON.stringify(change), value }
  })
  return { records, seq, first, head }
}
