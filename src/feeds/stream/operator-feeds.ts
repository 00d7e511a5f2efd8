import { type Db, sql } from '../../platform/db/database.ts'
import { readAvailabilityChanges } from '../availability-feed.ts'
import type { FeedBounds } from '../feed-bounds.ts'
import type { OperatorFeed } from '../feed-heads.ts'
import { readRouteChanges } from '../route-change-queries.ts'
import { PAGE_RECORDS, type RecordPage } from './feed-tail.ts'

/** One page of a feed, for streams. */
export async function readOperatorPage(
  db: Db,
  feed: OperatorFeed,
  after: number,
): Promise<RecordPage<undefined>> {
  const { first, head } = boundsOf(await readOperatorBounds(db), feed)
  if (after >= head) return { records: [], seq: after, first, head }
  const changes =
    feed === 'route'
      ? (await readRouteChanges(db, { after, through: head, limit: PAGE_RECORDS })).changes
      : await readAvailabilityChanges(db, { after, limit: PAGE_RECORDS })
  const records = changes.map((change) => {
    const { seq, kind } = change
    return { seq, kind, json: JSON.stringify(change), value: undefined }
  })
  const seq = records.length < PAGE_RECORDS ? head : 0
  return { records, seq: Math.max(seq, records.at(-1)?.seq ?? 0), first, head }
}

export type OperatorBounds = ReadonlyMap<OperatorFeed, FeedBounds>

/** The bounds of each feed; every record up to its head is committed. */
export async function readOperatorBounds(db: Db): Promise<OperatorBounds> {
  const { rows } = await sql<FeedBounds & { feed: OperatorFeed }>`
    select feed, first_seq as first, last_seq as head from feed_head
  `.execute(db)
  return new Map(rows.map(({ feed, ...bounds }) => [feed, bounds]))
}

export function boundsOf(bounds: OperatorBounds, feed: OperatorFeed): FeedBounds {
  return bounds.get(feed) ?? { first: 1, head: 0 }
}
