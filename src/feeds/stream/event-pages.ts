import { createTtlCache } from '../../platform/base/cache.ts'
import { createSemaphore } from '../../platform/base/semaphore.ts'
import type { FeedName } from '../feed-heads.ts'

/** A page of a feed, as a poll shows it. */
interface FeedPage {
  readonly items: readonly { readonly seq: number; readonly kind: string }[]
  /** All records up to this number were read. */
  readonly seq: number
  readonly head: number
}

/** A feed as a stream follows it. */
export interface StreamedFeed {
  readonly feed: FeedName
  /** Streams of one feed with the same filter share their pages. */
  readonly filter: object
  /** Throws the problem of a number that is outside of the feed. */
  readonly readPage: (after: number, limit: number) => Promise<FeedPage>
}

/** The position of a stream in a feed. */
export interface FeedPosition {
  /** All records up to this number were sent or do not pass the filter. */
  after: number
  /** The last number of the feed, as far as the stream knows. */
  head: number
}

/** A page as events. */
interface EventPage extends Pick<FeedPage, 'seq'> {
  /** Undefined if the page is far from it: other streams may know a later one. */
  readonly head: number | undefined
  /** The text of an event lacks the line of its id. */
  readonly events: readonly { readonly seq: number; readonly text: Buffer }[]
}

export type ReadEvents = (feed: StreamedFeed, position: FeedPosition) => Promise<EventPage>

const PAGE_RECORDS = 50
/** A stream that waits for its client holds this much text, or one record. */
const PAGE_CHARS = 32_000
/**
 * How many reads run at a time. Together they use less than half of the connections for requests, however many streams
 * begin at once, and streams that begin do not delay those that are at the end of their feed.
 */
const READS = { backlog: 2, end: 2 }
/** When many clients connect again at once, they read the same pages within this time. */
const PAGE_TTL_MS = 5_000
const MAX_PAGES = 50

/**
 * Reads pages for streams. A thousand streams at one position, with the same filter, make one read and one text. Near
 * the end they share it only if they know the same head: a page that was read for an older one may lack the last records.
 */
export function createEventPages(): ReadEvents {
  const pages = createTtlCache<EventPage>({
    ttlMs: PAGE_TTL_MS,
    nowMs: () => performance.now(),
    maxKeys: MAX_PAGES,
    isCacheable: ({ events }) => events.length > 0,
  })
  const limitBacklog = createSemaphore(READS.backlog)
  const limitEnd = createSemaphore(READS.end)
  return ({ feed, filter, readPage }, { after, head }) => {
    const isAtEnd = head - after < PAGE_RECORDS
    const limit = isAtEnd ? limitEnd : limitBacklog
    const key = JSON.stringify([feed, filter, after, isAtEnd ? head : null])
    const read = async () => {
      const page = eventsOf(await readPage(after, PAGE_RECORDS))
      return { ...page, head: isAtEnd ? page.head : undefined }
    }
    return pages.get(key, () => limit(read))
  }
}

function eventsOf({ items, seq, head }: FeedPage): EventPage {
  let chars = 0
  const events: { seq: number; text: Buffer }[] = []
  for (const item of items) {
    const text = eventText(item.kind, item)
    chars += text.length
    if (chars > PAGE_CHARS && events.length > 0) {
      return { events, seq: events.at(-1)?.seq ?? seq, head }
    }
    events.push({ seq: item.seq, text: Buffer.from(text) })
  }
  return { events, seq, head }
}

/** An event as text, in the form of Server-Sent Events. */
export function eventText(kind: string, data: unknown): string {
  return `event: ${kind}\ndata: ${JSON.stringify(data)}\n\n`
}
