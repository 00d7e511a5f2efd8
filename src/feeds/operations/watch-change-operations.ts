import type { FastifyReply } from 'fastify'
import { Type } from 'typebox'
import { WATCH_CHANGE_KINDS } from '../../platform/base/change-kinds.ts'
import { operations, type WhileWaiting } from '../../platform/http/operation.ts'
import { object, unionBy } from '../../platform/http/schemas.ts'
import { changePage, FILTERS, PAGE_PARAMETERS } from '../change-shapes.ts'
import type { FeedHeads, FeedWait } from '../feed-heads.ts'
import { recordOf } from '../watch-change-shapes.ts'
import {
  type FeedSource,
  type FollowArgs,
  type LinkedChange,
  readFeedPage,
  type WatchFeedPage,
} from '../watch-feed-queries.ts'

const { reseller } = operations<FeedSource & { readonly feedHeads: FeedHeads }>()

const MAX_WAIT_SECONDS = 30

const Query = object({
  ...PAGE_PARAMETERS,
  wait: Type.Integer({
    minimum: 0,
    maximum: MAX_WAIT_SECONDS,
    default: 0,
    description: 'How many seconds the response waits for a record if there is none yet.',
  }),
  ...FILTERS,
})

/** A record of a reseller's feed. */
const WatchChange = Type.Unsafe<LinkedChange>(
  unionBy(
    'kind',
    'WatchChange',
    WATCH_CHANGE_KINDS.map((kind) => recordOf(kind)),
  ),
)

const listChanges = reseller({
  id: 'listWatchChanges',
  method: 'GET',
  path: '/api/v1/watch-changes',
  tag: 'Changes',
  summary: 'List the changes of your watches, oldest first',
  description:
    'Pass the `seq` of the response as `after` of the next request. No record ever appears later with a smaller number.',
  scope: 'read',
  query: Query,
  answer: changePage(
    WatchChange,
    'The number of the last record of your feed. If it is above `seq`, there are more records.',
    { title: 'WatchChangePage' },
  ),
  problems: ['changes.beyond_head', 'changes.restored', 'changes.archived'],
  example: { query: { after: '0', limit: '1' } },
  handler: async ({ db, publicUrl, resellerId, feedHeads }, { query, reply, ...request }) => {
    const { after, limit, wait, ...filter } = query
    const waiting = {
      feedHeads,
      waitMs: wait * 1000,
      signal: disconnectSignal(reply),
      reauthorize: request.reauthorize,
      whileWaiting: request.whileWaiting,
    }
    const wanted = { resellerId, after, limit, filter }
    return awaitFeedPage({ db, publicUrl }, wanted, waiting)
  },
})

/** Aborts when the client disconnects. */
function disconnectSignal({ raw }: FastifyReply): AbortSignal {
  const disconnected = new AbortController()
  raw.once('close', () => disconnected.abort())
  return disconnected.signal
}

interface WaitArgs {
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
 * The first page after a number that has a record; an empty one when the time is up, or the caller has left. Throws
 * what `reauthorize` throws, at most five seconds after the key was revoked, and the problem of a number outside of
 * the feed.
 */
async function awaitFeedPage(
  source: FeedSource,
  args: FollowArgs,
  { feedHeads, waitMs, signal, reauthorize, whileWaiting }: WaitArgs,
): Promise<WatchFeedPage> {
  const endsAt = performance.now() + waitMs
  let page = await readFeedPage(source, args)
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
    page = await readFeedPage(source, { ...args, after: page.seq })
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

/** The feed of a reseller's watches. */
export const WATCH_CHANGE_OPERATIONS = [listChanges]
