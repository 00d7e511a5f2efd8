import { type Db, sql } from '../platform/db/database.ts'
import { readHistoryFloor } from '../platform/db/history-floor.ts'
import { selectOne } from '../platform/db/transaction.ts'
import { ProblemError } from '../platform/http/problems.ts'
import type { Metrics } from '../platform/metrics/metrics.ts'

/** The first and the last number of a feed. Records before the first one are archived. */
export interface FeedBounds {
  /** 1 if nothing was archived. */
  readonly first: number
  /** 0 before the first record. */
  readonly head: number
}

/** The bounds of a feed that all resellers share; every record up to its head is committed. */
export function readFeedBounds(db: Db, feed: 'route' | 'availability'): Promise<FeedBounds> {
  return selectOne(
    sql<FeedBounds>`
      select coalesce(max(first_seq), 1) as first, coalesce(max(last_seq), 0) as head from feed_head where feed = ${feed}
    `,
    db,
  )
}

/**
 * The number after which a reader begins. Throws the problem of a number that the feed does not have yet, or no
 * longer has.
 */
export function startAfter(
  { first, head }: FeedBounds,
  after: number | undefined,
  parameter = 'after',
): number {
  if (after === undefined) return first - 1
  if (after > head) {
    // Such a client would miss all records up to its number.
    throw new ProblemError('changes.beyond_head', {
      parameter,
      detail: `${parameter} is ${after}, but the feed ends at ${head}`,
    })
  }
  if (after < first - 1) {
    throw new ProblemError('changes.archived', {
      parameter,
      first,
      detail: `${parameter} is ${after}, but the feed begins at ${first}: earlier records are archived`,
    })
  }
  return after
}

/**
 * Adds the number before each record, so that a reader sees whether it missed one. Without a filter it is one less: the
 * numbers have no gaps.
 * @param findBefore finds the last number before another that passes the filter.
 */
export async function linkToPrevious<R extends { readonly seq: number }>(
  rows: readonly R[],
  filter: object,
  findBefore: (seq: number) => Promise<number>,
): Promise<(R & { readonly previous: number })[]> {
  const [first] = rows
  if (first === undefined) return []
  const before = isFiltered(filter) ? await findBefore(first.seq) : first.seq - 1
  return rows.map((row, i) => ({ ...row, previous: rows[i - 1]?.seq ?? before }))
}

/** Whether a filter has a condition. */
export function isFiltered(filter: object): boolean {
  return Object.values(filter).some((wanted) => wanted !== undefined)
}

export interface FeedHead {
  readonly feed: string
  readonly lastSeq: number
  /** Seconds since 1970; 0 before the first record. */
  readonly lastRecordAt: number
}

/** Sets the gauges of the feeds, and of the floor of the histories, from the database. */
export async function readFeedGauges(db: Db, metrics: Metrics): Promise<void> {
  for (const { feed, lastSeq, lastRecordAt } of await readFeedHeads(db)) {
    metrics.feedLastSeq.set({ feed }, lastSeq)
    metrics.feedLastRecord.set({ feed }, lastRecordAt)
  }
  metrics.historyFloor.set(((await readHistoryFloor(db))?.getTime() ?? 0) / 1000)
}

/** The feeds of all resellers count as one: how many records a reseller has is secret. */
export async function readFeedHeads(db: Db): Promise<FeedHead[]> {
  const { rows } = await sql<FeedHead>`
    select feed, last_seq as "lastSeq", coalesce(extract(epoch from recorded_at), 0)::float8 as "lastRecordAt"
      from (select 'route' as feed, h.last_seq, c.recorded_at
              from feed_head h
              left join route_change c on c.seq = h.last_seq
             where h.feed = 'route'
            union all
            select 'availability', h.last_seq, c.recorded_at
              from feed_head h
              left join availability_change c on c.seq = h.last_seq
             where h.feed = 'availability'
            union all
            select 'watch', coalesce(sum(r.last_seq), 0)::bigint, max(w.recorded_at)
              from reseller r
              left join watch_change w on w.reseller_id = r.id and w.seq = r.last_seq) f
  `.execute(db)
  return rows
}
