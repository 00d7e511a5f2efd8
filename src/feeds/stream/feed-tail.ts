import { createTtlCache } from '../../platform/base/cache.ts'
import { messageOf } from '../../platform/base/errors.ts'
import type { Logger } from '../../platform/base/logger.ts'
import { createSemaphore } from '../../platform/base/semaphore.ts'
import { type FeedBounds, type Gap, isInGap } from '../feed-bounds.ts'
import type { FeedHeads } from '../feed-heads.ts'

/** A record of a feed, ready to be sent. */
export interface StreamRecord<V> {
  readonly seq: number
  readonly kind: string
  /** The record as the API shows it, without `previous`. */
  readonly json: string
  /** What filters compare. */
  readonly value: V
}

export interface RecordPage<V> extends FeedBounds {
  readonly records: readonly StreamRecord<V>[]
  /** All records up to this number were read. */
  readonly seq: number
}

/** The end of a feed, read once for all streams of this process that follow it. */
export interface FeedTail<V> {
  /** The records after a number, as far as the tail has read. Undefined if the tail no longer holds all of them. */
  after(seq: number): readonly StreamRecord<V>[] | undefined
  /** Whether a number that was read is now in a gap or beyond the end: the database was restored, or a failover lost commits. */
  wentBack(): boolean
  /** The gaps of the feed as they were last read. */
  gaps(): readonly Gap[]
  leave(): void
}

export interface FeedTails<F, V> {
  /**
   * Joins the tail of a feed. The first one to join starts it at `head`, a number that the feed had reached.
   * @param onGrown called after each read that found records.
   */
  join(feed: F, head: number, onGrown: () => void): FeedTail<V>
  /**
   * The next page after a number that the tail no longer holds. Streams that begin at the same time share their
   * pages.
   */
  readBacklog(feed: F, after: number): Promise<RecordPage<V>>
  /** Runs a read of a stream's own, such as one with a filter, when few others run. */
  limitRead<T>(read: () => Promise<T>): Promise<T>
}

interface FeedTailsOptions<F, V> {
  /** Reads as many as PAGE_RECORDS records, or to the end of the feed. */
  readonly readPage: (feed: F, after: number) => Promise<RecordPage<V>>
  readonly heads: Pick<FeedHeads<F>, 'watch'>
  readonly log: Logger
}

/** About as many as a stream sends at a time. */
export const PAGE_RECORDS = 50
/**
 * How many reads run at a time. Together they use less than half of the connections for requests, however many streams
 * begin at once, and streams that begin do not delay those that are at the end of their feed.
 */
const TAIL_READS = 2
const BACKLOG_READS = 2
/** When many clients connect again at once, they read the same pages within this time. */
const PAGE_TTL_MS = 5_000
const MAX_PAGES = 50

/**
 * A tail exists while a stream follows its feed. A feed that cannot be read is read again with the next read of
 * its head.
 */
export function createFeedTails<F extends string | number, V>(
  options: FeedTailsOptions<F, V>,
): FeedTails<F, V> {
  const { readPage, heads, log } = options
  const tails = new Map<F, OpenTail<V>>()
  const limitTailRead = createSemaphore(TAIL_READS)
  const limitRead = createSemaphore(BACKLOG_READS)
  let isFailing = false

  const attempt = async (read: () => Promise<void>) => {
    try {
      await read()
      isFailing = false
    } catch (err) {
      if (!isFailing) log.warn({ reason: messageOf(err) }, 'a feed could not be read for streams')
      isFailing = true
    }
  }
  const open = (feed: F, head: number): OpenTail<V> => {
    const tail = createTail(head, (after) => limitTailRead(() => readPage(feed, after)))
    const unwatch = heads.watch(feed, (seq) => {
      if (seq !== undefined && seq !== tail.seq()) void attempt(tail.read)
    })
    const opened = { tail, unwatch }
    tails.set(feed, opened)
    return opened
  }
  return {
    join: (feed, head, onGrown) => {
      const opened = tails.get(feed) ?? open(feed, head)
      const { tail, unwatch } = opened
      tail.members.add(onGrown)
      // A record may have been written since the caller read the head.
      void attempt(tail.read)
      return {
        after: tail.after,
        wentBack: tail.wentBack,
        gaps: tail.gaps,
        leave: () => {
          tail.members.delete(onGrown)
          if (tail.members.size > 0) return
          unwatch()
          if (tails.get(feed) === opened) tails.delete(feed)
        },
      }
    },
    readBacklog: createBacklog((feed, after) => limitRead(() => readPage(feed, after))),
    limitRead,
  }
}

/** Reads pages that begin at a multiple of their size, so that streams share them wherever they begin. */
function createBacklog<F extends string | number, V>(
  readPage: FeedTailsOptions<F, V>['readPage'],
): FeedTails<F, V>['readBacklog'] {
  const pages = createTtlCache<RecordPage<V>>({
    ttlMs: PAGE_TTL_MS,
    nowMs: () => performance.now(),
    maxKeys: MAX_PAGES,
    // Records may be added to a page at the end of the feed.
    isCacheable: ({ records }) => records.length === PAGE_RECORDS,
  })
  return async (feed, after) => {
    const from = after - (after % PAGE_RECORDS)
    const page = await pages.get(`${feed} ${from}`, () => readPage(feed, from))
    // A read that another stream began may be older than `after`.
    const [seq, head] = [Math.max(after, page.seq), Math.max(after, page.head)]
    const records = page.records.filter((record) => record.seq > after)
    return { ...page, records, seq, head }
  }
}

interface OpenTail<V> {
  readonly tail: Tail<V>
  readonly unwatch: () => void
}

interface Tail<V> extends Omit<FeedTail<V>, 'leave'> {
  readonly members: Set<() => void>
  seq(): number
  /** Reads to the end of the feed. One read runs at a time, and a call during it makes it go on. */
  read(): Promise<void>
}

/** Holds the last page that had records. Streams that are further behind read the feed. */
function createTail<V>(from: number, readPage: (after: number) => Promise<RecordPage<V>>): Tail<V> {
  const members = new Set<() => void>()
  let held: readonly StreamRecord<V>[] = []
  let [seq, heldAfter] = [from, from]
  let gaps: readonly Gap[] = []
  let [isReading, mayHaveMore, wentBack] = [false, false, false]

  const hold = (page: RecordPage<V>) => {
    gaps = page.gaps
    wentBack ||= page.head < seq || isInGap(gaps, seq)
    if (page.records.length > 0) {
      held = page.records
      heldAfter = seq
    }
    seq = page.seq
    if (page.records.length > 0 || wentBack) for (const onGrown of [...members]) onGrown()
  }
  return {
    members,
    seq: () => seq,
    wentBack: () => wentBack,
    gaps: () => gaps,
    after: (number) =>
      number < heldAfter
        ? undefined
        : held.slice(held.findLastIndex((record) => record.seq <= number) + 1),
    read: async () => {
      mayHaveMore = true
      if (isReading) return
      isReading = true
      try {
        while (mayHaveMore) {
          mayHaveMore = false
          const page = await readPage(seq)
          hold(page)
          mayHaveMore ||= page.seq < page.head
        }
      } finally {
        isReading = false
      }
    },
  }
}
