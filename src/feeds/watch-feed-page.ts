import type { Db } from '../platform/db/database.ts'
import type { WhileWaiting } from '../platform/http/operation.ts'
import { type FeedBounds, startAfter } from './feed-bounds.ts'
import type { FeedHeads, FeedWait } from './feed-heads.ts'
import {
  findPassedBefore,
  readWatchChanges,
  readWatchFeedBounds,
  type WatchChange,
  type WatchChangeFilter,
} from './watch-feed-queries.ts'

/** A record with the number before it, so that a reader sees whether it missed one. */
export interface LinkedChange extends WatchChange {
  /** The last number before it that passes the same filter; 0 where none of the PREVIOUS_SPAN before it does. */
  readonly previous: number
}

export interface WatchFeedPage extends FeedBounds {
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

/** How many records a page reads at most, and as many again before its first. Where few pass a filter, the next page goes on. */
export const PREVIOUS_SPAN = 20_000

/**
 * The records of a reseller's feed after a number, as far as one page reads. The head is read first: every record up to it
 * is committed. Throws the problem of a number that is outside of the feed.
 */
export async function readFeedPage(db: Db, args: FollowArgs): Promise<WatchFeedPage> {
  const bounds = await readWatchFeedBounds(db, args.resellerId)
  return readPageWithin(db, bounds, { ...args, after: startAfter(bounds, args.after) })
}

/** As readFeedPage. A number before the first record is allowed: the page then lacks the archived ones. */
export async function readPageWithin(
  db: Db,
  { first, head }: FeedBounds,
  { resellerId, after, limit, filter }: FollowArgs & { readonly after: number },
): Promise<WatchFeedPage> {
  if (after >= head) return { items: [], seq: after, first, head }
  const through = Math.min(head, after + PREVIOUS_SPAN)
  const rows = await readWatchChanges(db, resellerId, { after, through, limit, filter })
  const items = await linkToPrevious(db, { resellerId, filter, rows })
  const seq = rows.length < limit ? through : (rows.at(-1)?.seq ?? through)
  return { items, seq, first, head }
}

async function linkToPrevious(
  db: Db,
  { resellerId, filter, rows }: Pick<FollowArgs, 'resellerId' | 'filter'> & { rows: WatchChange[] },
): Promise<LinkedChange[]> {
  const [first] = rows
  if (first === undefined) return []
  const filtered = Object.values(filter).some((wanted) => wanted !== undefined)
  const before = filtered
    ? await findPassedBefore(db, resellerId, {
        after: first.seq - 1 - PREVIOUS_SPAN,
        before: first.seq,
        filter,
      })
    : first.seq - 1
  return rows.map((row, i) => ({ ...row, previous: rows[i - 1]?.seq ?? before }))
}

export interface WaitArgs {
  readonly feedHeads: Pick<FeedHeads, 'wait'>
  /** How long to wait for a first record; 0 not at all. */
  readonly waitMs: number
  readonly signal: AbortSignal
  /** Throws if the caller's key may not read any more. */
  readonly reauthorize: () => Promise<void>
  readonly whileWaiting: WhileWaiting
}

/** How often the key of a waiting request is checked. The checks of all requests of a process share their queries. */
const REAUTHORIZE_EVERY_MS = 5_000

/**
 * The first page after a number that has a record; an empty one when the time is up, or the caller has left. Throws what
 * `reauthorize` throws, at most five seconds after the key was revoked, and the problem of a number outside of the feed.
 */
export async function awaitFeedPage(
  db: Db,
  args: FollowArgs,
  { feedHeads, waitMs, signal, reauthorize, whileWaiting }: WaitArgs,
): Promise<WatchFeedPage> {
  const endsAt = performance.now() + waitMs
  let page = await readFeedPage(db, args)
  while (page.items.length === 0 && !signal.aborted) {
    const ms = endsAt - performance.now()
    if (ms <= 0) break
    const { resellerId } = args
    const wanted = { feed: resellerId, after: page.seq, ms, signal }
    if (page.seq === page.head) {
      const mayHaveMore = await whileWaiting(() => waitAuthorized(feedHeads, wanted, reauthorize))
      await reauthorize()
      if (!mayHaveMore) break
    }
    page = await readFeedPage(db, { ...args, after: page.seq })
  }
  return page
}

/** Waits for the feed, but ends when the caller's key may not read any more. */
async function waitAuthorized(
  feedHeads: WaitArgs['feedHeads'],
  wanted: FeedWait,
  reauthorize: () => Promise<void>,
): Promise<boolean> {
  const refused = new AbortController()
  const checking = setInterval(() => {
    reauthorize().catch(() => refused.abort())
  }, REAUTHORIZE_EVERY_MS)
  try {
    return await feedHeads.wait({
      ...wanted,
      signal: AbortSignal.any([wanted.signal, refused.signal]),
    })
  } finally {
    clearInterval(checking)
  }
}
