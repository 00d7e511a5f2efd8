import { coalesce } from '../platform/base/clock.ts'
import { type Db, PREPARED, sql } from '../platform/db/database.ts'
import { followHints, type Listener } from '../platform/db/listener.ts'

/** The feeds of all routes and of all fares, in the order of a position. */
export const OPERATOR_FEEDS = ['route', 'availability'] as const
export type OperatorFeed = (typeof OPERATOR_FEEDS)[number]

/** The feed of all routes, of all fares, or of the reseller with this id. */
export type FeedName = OperatorFeed | number

/** @param head the last number of the feed; undefined if it could not be read. */
type OnHead = (head: number | undefined) => void

/** Watches the heads of feeds for everything in this process that waits for records. */
export interface FeedHeads<F = FeedName> {
  /**
   * Calls `onHead` soon, because the feed may have grown since its caller read it, and after each later read.
   * Returns the function that ends it.
   */
  watch(feed: F, onHead: OnHead): () => void
  /**
   * True as soon as the feed may have grown beyond `after`, also when its head cannot be read: the caller then
   * meets the error itself. False when the time is up, the signal aborts or the watcher closes, and at once where
   * too many requests wait for this feed.
   */
  wait(wanted: FeedWait<F>): Promise<boolean>
  /** Reads the head of this feed, or of all that are watched, because it may have grown. */
  readNow(feed?: F): void
  /** Ends every wait; later ones end at once. */
  close(): void
}

export interface FeedWait<F = FeedName> {
  readonly feed: F
  readonly after: number
  readonly ms: number
  readonly signal: AbortSignal
}

interface FeedHeadsOptions<F> {
  /** The last numbers of these feeds. */
  readonly readHeads: (feeds: readonly F[]) => Promise<ReadonlyMap<F, number>>
  /** How often the heads are read without a notification. */
  readonly everyMs?: number
  /** The limit of waits for one feed. Waits for other feeds do not count. */
  readonly maxWaiting?: number
}

/** A notification causes a read at once. This finds the records whose notification was lost. */
const EVERY_MS = 2_000
const MAX_WAITING = 50

export function createFeedHeads<F = FeedName>(options: FeedHeadsOptions<F>): FeedHeads<F> {
  const { everyMs = EVERY_MS, maxWaiting = MAX_WAITING } = options
  const { watch, readNow } = createHeadReader(options.readHeads)
  const waits = new Map<F, number>()
  const closing = new AbortController()
  const timer = setTimeout(() => {
    readNow()
    timer.refresh()
  }, everyMs).unref()

  const untilBeyond = async ({ feed, after, ms, signal }: FeedWait<F>) => {
    const ending = AbortSignal.any([signal, closing.signal])
    if (ending.aborted) return false
    const { promise, resolve } = Promise.withResolvers<boolean>()
    const unwatch = watch(feed, (head) => {
      if (head === undefined || head > after) resolve(true)
    })
    const giveUp = () => resolve(false)
    const timeout = setTimeout(giveUp, ms)
    ending.addEventListener('abort', giveUp, { once: true })
    const mayHaveMore = await promise
    clearTimeout(timeout)
    ending.removeEventListener('abort', giveUp)
    unwatch()
    return mayHaveMore
  }
  return {
    watch,
    readNow,
    wait: async (wanted) => {
      const waiting = waits.get(wanted.feed) ?? 0
      if (waiting >= maxWaiting) return false
      waits.set(wanted.feed, waiting + 1)
      const mayHaveMore = await untilBeyond(wanted)
      const left = (waits.get(wanted.feed) ?? 1) - 1
      if (left > 0) waits.set(wanted.feed, left)
      else waits.delete(wanted.feed)
      return mayHaveMore
    },
    close: () => {
      clearTimeout(timer)
      closing.abort()
    },
  }
}

interface Watched {
  readonly members: Set<OnHead>
  /** The last head that was read; undefined before, and if it could not be read. */
  head: number | undefined
  /** Reads the head, because a notification says that the feed has grown. */
  readonly hint: () => void
}

/**
 * One query runs at a time for all watched feeds, and none while none is watched: a thousand waiting requests hold no
 * connection. A query that fails is reported to all watchers of its feeds.
 */
function createHeadReader<F = FeedName>(
  readHeads: FeedHeadsOptions<F>['readHeads'],
): Pick<FeedHeads<F>, 'watch' | 'readNow'> {
  const watched = new Map<F, Watched>()
  const due = new Set<F>()

  const readDue = coalesce(async () => {
    const feeds = [...due].filter((feed) => watched.has(feed))
    due.clear()
    if (feeds.length === 0) return
    const heads = await readHeads(feeds).catch(() => undefined)
    for (const feed of feeds) {
      const found = watched.get(feed)
      if (found === undefined) continue
      found.head = heads && (heads.get(feed) ?? 0)
      for (const onHead of [...found.members]) onHead(found.head)
    }
  })
  const read = (feed: F) => {
    due.add(feed)
    return readDue()
  }
  const addWatched = (feed: F): Watched => {
    const added: Watched = {
      members: new Set(),
      head: undefined,
      hint: followHints(async () => {
        const before = added.head
        await read(feed)
        return added.head !== before
      }),
    }
    watched.set(feed, added)
    return added
  }
  return {
    readNow: (feed) => {
      if (feed !== undefined) watched.get(feed)?.hint()
      else for (const one of watched.keys()) void read(one)
    },
    watch: (feed, onHead) => {
      const found = watched.get(feed) ?? addWatched(feed)
      found.members.add(onHead)
      void read(feed)
      return () => {
        found.members.delete(onHead)
        if (found.members.size === 0 && watched.get(feed) === found) watched.delete(feed)
      }
    },
  }
}

/** Reads the heads of feeds after every notification of new records until the returned function is called. */
export function listenForHeads(
  { readNow }: Pick<FeedHeads, 'readNow'>,
  listener: Pick<Listener, 'subscribe'>,
): () => void {
  const subscriptions = [
    listener.subscribe('watch', readNow),
    listener.subscribe('route', () => readNow('route')),
    listener.subscribe('availability', () => readNow('availability')),
  ]
  return () => {
    for (const unsubscribe of subscriptions) unsubscribe()
  }
}

/** The last numbers of these feeds; every record up to them is committed. */
export async function readHeadsOf(
  db: Db,
  feeds: readonly FeedName[],
): Promise<ReadonlyMap<FeedName, number>> {
  const resellers = feeds.filter((feed) => typeof feed === 'number')
  const others = feeds.filter((feed) => typeof feed === 'string')
  const { rows } = await sql<{
    reseller: number | null
    feed: OperatorFeed
    head: number
  }>`${PREPARED}
    select id as reseller, null as feed, last_seq as head from reseller where id = any(${resellers}::bigint[])
    union all
    select null, feed, last_seq from feed_head where feed = any(${others}::text[])
  `.execute(db)
  return new Map(rows.map(({ reseller, feed, head }) => [reseller ?? feed, head]))
}
