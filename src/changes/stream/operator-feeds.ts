import { type Db, sql } from '../../db/database.ts'
import { readAvailabilityChanges } from '../availability-feed.ts'
import { readRouteChanges } from '../route-change-queries.ts'
import { PAGE_RECORDS, type RecordPage } from './feed-tail.ts'

/** The feeds of all routes and of all fares, in the order of a position. */
export const OPERATOR_FEEDS = ['route', 'availability'] as const
export type OperatorFeed = (typeof OPERATOR_FEEDS)[number]

/** One page of a feed, for streams. */
export async function readOperatorPage(
  db: Db,
  feed: OperatorFeed,
  after: number,
): Promise<RecordPage<undefined>> {
  const head = (await readOperatorHeads(db)).get(feed) ?? 0
  if (after >= head) return { records: [], seq: after, head }
  const changes =
    feed === 'route'
      ? (await readRouteChanges(db, { after, through: head, limit: PAGE_RECORDS })).changes
      : await readAvailabilityChanges(db, { after, limit: PAGE_RECORDS })
  const records = changes.map((change) => {
    const { seq, kind } = change
    return { seq, kind, json: JSON.stringify(change), value: undefined }
  })
  const seq = records.length < PAGE_RECORDS ? head : 0
  return { records, seq: Math.max(seq, records.at(-1)?.seq ?? 0), head }
}

/** The last number of each feed; every record up to it is committed. */
export async function readOperatorHeads(db: Db): Promise<ReadonlyMap<OperatorFeed, number>> {
  const { rows } = await sql<{ feed: OperatorFeed; seq: number }>`
    select feed, last_seq as seq from feed_head
  `.execute(db)
  return new Map(rows.map(({ feed, seq }) => [feed, seq]))
}
