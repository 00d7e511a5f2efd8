import { type Db, sql } from '../platform/db/database.ts'
import { selectOne } from '../platform/db/transaction.ts'
import { ProblemError } from '../platform/http/problems.ts'

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

/** The number after which a reader begins. Throws the problem of a number that the feed does not have yet, or no longer has. */
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
