import type { Db } from '../db/database.ts'
import type { FeedWait, FeedWatch } from './feed-watch.ts'
import {
  findPassedBefore,
  readFeedHead,
  readWatchChanges,
  type WatchChange,
  type WatchChangeFilter,
} from './watch-feed-queries.ts'

/** A record with the number before it, so that a reader sees whether it missed one. */
export interface ChainedChange extends WatchChange {
  /** The last number before it that passes the same filter; 0 where none of those that are looked at does. */
  readonly previous: number
}

export interface WatchFeedPage {
  readonly items: ChainedChange[]
  /** Up to here was looked at: the next `after`. */
  readonly seq: number
  /** The last number of the feed. */
  readonly head: number
}

export interface FollowArgs {
  readonly resellerId: number
  readonly after: number
  readonly limit: number
  readonly filter: WatchChangeFilter
}

/**
 * Records that one question looks at, and as many again before its first: where few pass a filter, a page ends here and
 * the next one goes on.
 */
const SPAN = 20_000

/**
 * The records of a reseller's feed after a number, as far as one question goes. The head is read first: all up to it
 * is there to be read.
 */
export async function readFeedPage(db: Db, args: FollowArgs): Promise<WatchFeedPage> {
  const { resellerId, after, limit, filter } = args
  const head = await readFeedHead(db, resellerId)
  if (after >= head) return { items: [], seq: after, head }
  const through = Math.min(head, after + SPAN)
  const rows = await readWatchChanges(db, resellerId, { after, through, limit, filter })
  const items = await chain(db, { resellerId, filter, rows })
  const seq = rows.length < limit ? through : (rows.at(-1)?.seq ?? through)
  return { items, seq, head }
}

async function chain(
  db: Db,
  { resellerId, filter, rows }: Pick<FollowArgs, 'resellerId' | 'filter'> & { rows: WatchChange[] },
): Promise<ChainedChange[]> {
  const [first] = rows
  if (first === undefined) return []
  const filtered = Object.values(filter).some((wanted) => wanted !== undefined)
  const before = filtered
    ? await findPassedBefore(db, resellerId, {
        after: first.seq - 1 - SPAN,
        before: first.seq,
        filter,
      })
    : first.seq - 1
  return rows.map((row, i) => ({ ...row, previous: rows[i - 1]?.seq ?? before }))
}

export interface WaitArgs {
  readonly feedWatch: FeedWatch
  /** How long to wait for a first record; 0 not at all. */
  readonly waitMs: number
  readonly signal: AbortSignal
  /** Throws where whoever waits may not be answered any more. */
  readonly reauthorize: () => Promise<void>
}

/** How often it is asked whether whoever waits still may: for all keys that wait here together, a question or two. */
const READMIT_EVERY_MS = 5_000

/**
 * The first page after a number that holds a record; an empty one when the time is up, or nobody waits any more. It
 * may end a little beyond the time, never before a record that is there. Throws what `reauthorize` throws after a wait, and
 * within five seconds of it.
 */
export async function awaitFeedPage(
  db: Db,
  args: FollowArgs,
  { feedWatch, waitMs, signal, reauthorize }: WaitArgs,
): Promise<WatchFeedPage> {
  const endsAt = performance.now() + waitMs
  let page = await readFeedPage(db, args)
  // A number that the feed has not reached is the caller's to refuse: nothing would come for long.
  while (page.items.length === 0 && page.seq <= page.head && !signal.aborted) {
    const ms = endsAt - performance.now()
    if (ms <= 0) break
    const { resellerId } = args
    const wanted = { resellerId, after: page.seq, ms, signal }
    if (page.seq === page.head) {
      const news = await waitAdmitted(feedWatch, wanted, reauthorize)
      await reauthorize()
      if (!news) break
    }
    page = await readFeedPage(db, { ...args, after: page.seq })
  }
  return page
}

/** A wait that also ends, without news, when whoever waits may not be answered any more. */
async function waitAdmitted(
  feedWatch: FeedWatch,
  wanted: FeedWait,
  reauthorize: () => Promise<void>,
): Promise<boolean> {
  const refused = new AbortController()
  const looking = setInterval(() => {
    reauthorize().catch(() => refused.abort())
  }, READMIT_EVERY_MS)
  try {
    return await feedWatch.wait({
      ...wanted,
      signal: AbortSignal.any([wanted.signal, refused.signal]),
    })
  } finally {
    clearInterval(looking)
  }
}
