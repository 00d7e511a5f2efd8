import { setTimeout as delay } from 'node:timers/promises'
import { STREAMS, type StreamName } from '../../platform/base/kinds.ts'
import { isDatabaseUnavailable } from '../../platform/db/database-health.ts'
import { type EventStream, openEventStream } from '../../platform/http/event-stream.ts'
import { ProblemError, problemOf } from '../../platform/http/problems.ts'
import type { Metrics } from '../../platform/metrics/metrics.ts'
import type { FeedHeads } from '../feed-heads.ts'
import { eventText, type FeedPosition, type ReadEvents, type StreamedFeed } from './event-pages.ts'

/** What a stream sends. */
interface Feeds {
  /** Feeds with the position at which the stream begins. */
  readonly feeds: readonly (StreamedFeed & Readonly<FeedPosition>)[]
  /** The id of an event after which the client has all records up to these positions. */
  readonly idOf: (positions: readonly number[]) => string
  /** Events about no record that are new since the last call. */
  readonly newStates?: () => readonly string[]
}

interface Following extends Feeds {
  readonly name: StreamName
  /** Throws if the caller's key may not read any more. */
  readonly reauthorize: () => Promise<void>
  /** Called when the stream has ended. */
  readonly leave?: () => void
}

type Reply = Parameters<typeof openEventStream>[0]

/** The open event streams of a process. */
export interface EventStreams {
  /**
   * Answers a request with a stream that follows feeds until it ends.
   * @param begin returns what the stream sends. News apart from the feeds call `notify`.
   */
  follow(reply: Reply, begin: (notify: () => void) => Following): void
  /**
   * Checks the keys of all streams now, and ends those whose key is no longer valid.
   * @returns whether it ended one.
   */
  reauthorize(): Promise<boolean>
  /** Ends all streams and asks their clients to connect again, at times that are spread out. */
  close(): void
}

export interface EventStreamsOptions {
  readonly heads: Pick<FeedHeads, 'watch'>
  readonly readEvents: ReadEvents
  readonly metrics: Pick<Metrics, 'streamOpen' | 'streamEvents' | 'streamEnded'>
  /** Called with an error of ours that ended a stream. */
  readonly onFailure: (err: unknown) => void
  readonly random?: () => number
  readonly writeDeadlineMs?: number
  readonly heartbeatEveryMs?: number
  /** How often the keys of all streams are checked without a notification. */
  readonly reauthorizeEveryMs?: number
  /** False: a stream ends when it has sent what there is. For tests. */
  readonly lasting?: boolean
}

const HEARTBEAT_EVERY_MS = 15_000
const WRITE_DEADLINE_MS = 15_000
/** Revocations are notified. This finds keys that expired, and revocations whose notification was lost. */
const REAUTHORIZE_EVERY_MS = 5_000
/** Clients connect again after 1 to 4 s, and after a shutdown within 10 s, so that they do not all come at once. */
const RETRY_MS = { from: 1_000, spread: 3_000 }
const RETRY_AFTER_SHUTDOWN_MS = { from: 1_000, spread: 9_000 }

interface Open {
  readonly stream: EventStream
  readonly sender: Sender
  readonly reauthorize: () => Promise<void>
}

export function createEventStreams(options: EventStreamsOptions): EventStreams {
  const { metrics, heads, random = Math.random, writeDeadlineMs = WRITE_DEADLINE_MS } = options
  const streams = new Set<Open>()
  const retryMs = ({ from, spread }: typeof RETRY_MS) => Math.round(from + random() * spread)
  // Without a stream the gauge is 0. A series that is missing means that the process is gone.
  for (const stream of STREAMS) metrics.streamOpen.set({ stream }, 0)
  const timers = [
    every(options.reauthorizeEveryMs ?? REAUTHORIZE_EVERY_MS, () => void endRefused(streams)),
    every(options.heartbeatEveryMs ?? HEARTBEAT_EVERY_MS, () => beatAll(streams)),
  ]
  return {
    follow: (reply, begin) => {
      const following = begin(() => sender.notify())
      const { name, feeds, reauthorize } = following
      const stream = openEventStream(reply, {
        writeDeadlineMs,
        retryMs: retryMs(RETRY_MS),
        onEnd: (reason) => {
          streams.delete(open)
          metrics.streamOpen.dec({ stream: name })
          metrics.streamEnded.inc({ stream: name, reason })
          for (const unwatch of watches) unwatch()
          following.leave?.()
        },
      })
      const sender = createSender(stream, following, {
        readEvents: options.readEvents,
        onSent: (events) => metrics.streamEvents.inc({ stream: name }, events),
        onFailure: (err) => {
          if (!(err instanceof ProblemError)) options.onFailure(err)
          stream.end('failed', problemText(err))
        },
        lasting: options.lasting ?? true,
      })
      const open = { stream, sender, reauthorize }
      streams.add(open)
      metrics.streamOpen.inc({ stream: name })
      const watches = feeds.map(({ feed }, i) =>
        heads.watch(feed, (head) => sender.onHead(i, head)),
      )
      sender.beat()
    },
    reauthorize: () => endRefused(streams),
    close: () => {
      for (const timer of timers) clearInterval(timer)
      for (const { stream } of streams) {
        stream.end('shutdown', `retry: ${retryMs(RETRY_AFTER_SHUTDOWN_MS)}\n\n`)
      }
    },
  }
}

function every(ms: number, work: () => void): NodeJS.Timeout {
  return setInterval(work, ms).unref()
}

function beatAll(streams: ReadonlySet<Open>): void {
  for (const { sender } of streams) sender.beat()
}

async function endRefused(streams: ReadonlySet<Open>): Promise<boolean> {
  const ended = await Promise.all([...streams].map(reauthorizeOne))
  return ended.includes(true)
}

/** An unavailable database ends no stream. Returns whether the stream was ended. */
async function reauthorizeOne({ stream, reauthorize }: Open): Promise<boolean> {
  try {
    await reauthorize()
    return false
  } catch (err) {
    if (err instanceof ProblemError) stream.end('refused', problemText(err))
    return err instanceof ProblemError
  }
}

/** The problem that a request after the last id would be answered with. */
function problemText(err: unknown): string {
  const isProblem = err instanceof ProblemError
  return eventText('problem', isProblem ? problemOf(err.code, err.args) : problemOf('internal'))
}

export interface SenderOptions {
  readonly readEvents: ReadEvents
  /** Called with a number of events that were sent. */
  readonly onSent: (events: number) => void
  /** Called with what ends the stream, after which nothing is sent. */
  readonly onFailure: (err: unknown) => void
  /** Whether the stream goes on when everything is sent. */
  readonly lasting: boolean
}

/** Sends the events of feeds on one stream. */
interface Sender {
  /** Sends what is new in a feed. `head` is its last number; undefined if it could not be read. */
  onHead(feed: number, head: number | undefined): void
  /** Sends what is new apart from the feeds. */
  notify(): void
  /** Sends what is new and a heartbeat. With the first one the client gets its first id. */
  beat(): void
}

/** A page that could not be read because the database is unavailable is read again after this time. */
const READ_AGAIN_MS = 1_000

/**
 * Sends the next pages when the client has read the ones before, so a stream holds one page of each feed at most. A
 * stream with nothing to send holds no promise: a thousand of them cost no work and little memory.
 */
export function createSender(stream: EventStream, feeds: Feeds, options: SenderOptions): Sender {
  const reader = createReader(feeds, options.readEvents)
  let [isSending, hasNews, isBeatDue] = [false, false, false]
  const hasMore = () => hasNews || reader.isBehind()

  const sendNext = async () => {
    hasNews = false
    const states = feeds.newStates?.() ?? []
    const { parts, events } = await reader.next()
    if (isBeatDue) parts.push(reader.heartbeat())
    isBeatDue = false
    if (states.length + parts.length > 0 && !(await stream.send([...states, ...parts]))) return
    options.onSent(states.length + events)
    if (!(options.lasting || hasMore())) stream.end('client')
  }
  const send = async () => {
    if (isSending) return
    isSending = true
    try {
      while (hasMore() && !stream.hasEnded()) await sendNext()
    } catch (err) {
      options.onFailure(err)
    } finally {
      isSending = false
    }
  }
  const notify = () => {
    hasNews = true
    void send()
  }
  return {
    notify,
    onHead: (feed, head) => {
      if (head !== undefined) reader.onHead(feed, head)
      void send()
    },
    beat: () => {
      isBeatDue = true
      notify()
    },
  }
}

/**
 * Reads feeds for one stream. Its positions are its only state, and each page begins after them, so no record is missed
 * or comes twice.
 */
function createReader({ feeds, idOf }: Feeds, readEvents: ReadEvents) {
  const client = feeds.map(({ after, head }) => ({ after, head }))
  const id = () => idOf(client.map(({ after }) => after))
  let lastId = ''
  const idLine = () => {
    lastId = id()
    return `id: ${lastId}\n`
  }
  const readNext = async (feed: StreamedFeed, position: FeedPosition) => {
    const { head } = position
    const page = await readIfAvailable(() => readEvents(feed, position))
    if (page === undefined) return []
    const parts = page.events.flatMap(({ seq, text }) => {
      position.after = seq
      return [idLine(), text]
    })
    position.after = page.seq
    // A head that became known during the read is newer than the page's.
    if (position.head === head) position.head = page.head ?? head
    return parts
  }
  return {
    isBehind: () => client.some(({ after, head }) => after !== head),
    onHead: (feed: number, head: number) => {
      const position = client[feed]
      if (position !== undefined) position.head = head
    },
    next: async () => {
      const parts: (string | Buffer)[] = []
      for (const [i, feed] of feeds.entries()) {
        const position = client[i] as FeedPosition
        if (position.after !== position.head) parts.push(...(await readNext(feed, position)))
      }
      return { parts, events: parts.length / 2 }
    },
    /** A block without data is no event, but a client that connects again sends its id. */
    heartbeat: () => (id() === lastId ? ':\n\n' : `${idLine()}\n`),
  }
}

/** Undefined, after a pause, if the database is unavailable: the page is then read again. */
async function readIfAvailable<T>(read: () => Promise<T>): Promise<T | undefined> {
  try {
    return await read()
  } catch (err) {
    if (!isDatabaseUnavailable(err)) throw err
    return delay(READ_AGAIN_MS, undefined, { ref: false })
  }
}
