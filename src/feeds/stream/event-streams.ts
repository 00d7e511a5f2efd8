import { setTimeout as delay } from 'node:timers/promises'
import { STREAMS, type StreamName } from '../../platform/base/kinds.ts'
import { isDatabaseUnavailable } from '../../platform/db/database-health.ts'
import { type EventStream, openEventStream } from '../../platform/http/event-stream.ts'
import type { ProblemCode } from '../../platform/http/problem-codes.ts'
import { ProblemError, problemOf } from '../../platform/http/problems.ts'
import type { Metrics } from '../../platform/metrics/metrics.ts'
import type { FeedCursor, FeedText, NextTexts } from './feed-cursor.ts'

interface Following extends Feeds {
  readonly name: StreamName
  /** Throws if the caller's key may not read any more. */
  readonly reauthorize: () => Promise<void>
  /** Called when the stream has ended. */
  readonly leave: () => void
}

type Reply = Parameters<typeof openEventStream>[0]

/** The open event streams of a process. */
export interface EventStreams {
  /**
   * Answers a request with a stream that follows feeds until it ends.
   * @param join joins the feeds. Their growth, and other news, call `notify`.
   */
  follow(reply: Reply, join: (notify: () => void) => Following): void
  /**
   * Checks the keys of all streams now, and ends those whose key is no longer valid.
   * @returns whether it ended one.
   */
  reauthorize(): Promise<boolean>
  /** Ends all streams and asks their clients to connect again, at times that are spread out. */
  close(): void
}

export interface EventStreamsOptions {
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
  const { metrics, random = Math.random, writeDeadlineMs = WRITE_DEADLINE_MS } = options
  const { reauthorizeEveryMs = REAUTHORIZE_EVERY_MS } = options
  const streams = new Set<Open>()
  const retryMs = ({ from, spread }: typeof RETRY_MS) => Math.round(from + random() * spread)
  const reauthorizeAll = () => endRefused(streams)
  // Without a stream the gauge is 0. A series that is missing means that the process is gone.
  for (const stream of STREAMS) metrics.streamOpen.set({ stream }, 0)
  const timers = [
    setInterval(() => void reauthorizeAll(), reauthorizeEveryMs).unref(),
    setInterval(() => beatAll(streams), options.heartbeatEveryMs ?? HEARTBEAT_EVERY_MS).unref(),
  ]
  return {
    follow: (reply, join) => {
      const stream = openEventStream(reply, {
        writeDeadlineMs,
        retryMs: retryMs(RETRY_MS),
        onEnd: (reason) => {
          streams.delete(open)
          metrics.streamOpen.dec({ stream: name })
          metrics.streamEnded.inc({ stream: name, reason })
          following.leave()
        },
      })
      const following = join(() => sender.notify())
      const { name, reauthorize } = following
      const sender = createSender(stream, following, {
        onSent: (events) => metrics.streamEvents.inc({ stream: name }, events),
        onFailure: (err) => {
          options.onFailure(err)
          stream.end('failed', problemText('internal'))
        },
        lasting: options.lasting ?? true,
      })
      const open = { stream, sender, reauthorize }
      streams.add(open)
      metrics.streamOpen.inc({ stream: name })
      sender.beat()
    },
    reauthorize: reauthorizeAll,
    close: () => {
      for (const timer of timers) clearInterval(timer)
      for (const { stream } of streams) {
        stream.end('shutdown', `retry: ${retryMs(RETRY_AFTER_SHUTDOWN_MS)}\n\n`)
      }
    },
  }
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
    if (err instanceof ProblemError) stream.end('refused', problemText(err.code))
    return err instanceof ProblemError
  }
}

function problemText(code: ProblemCode): string {
  return `event: problem\ndata: ${JSON.stringify(problemOf(code))}\n\n`
}

/** What a stream sends. */
interface Feeds {
  readonly cursors: readonly FeedCursor[]
  /** The id of an event after which the client has all records up to these positions. */
  readonly idOf: (positions: readonly number[]) => string
  /** Events about no record that are new since the last call. */
  readonly otherTexts?: () => readonly FeedText[]
}

interface SenderOptions {
  /** Called with a number of events that were sent. */
  readonly onSent: (events: number) => void
  /** Called with an error of ours, after which nothing is sent. */
  readonly onFailure: (err: unknown) => void
  /** Whether the stream goes on when everything is sent. */
  readonly lasting: boolean
}

/** Sends the events of feeds on one stream. */
interface Sender {
  /** Sends what is new. */
  notify(): void
  /** Sends what is new and a heartbeat. With the first one the client gets its first id. */
  beat(): void
}

interface SenderState {
  isSending: boolean
  mayHaveMore: boolean
  isBeatDue: boolean
}

/** A page that could not be read because the database is unavailable is read again after this time. */
const READ_AGAIN_MS = 1_000

/**
 * Sends the next batch when the client has read the one before, so a stream holds one batch at most. A stream with
 * nothing to send holds no promise: a thousand of them cost no work and little memory.
 */
export function createSender(stream: EventStream, feeds: Feeds, options: SenderOptions): Sender {
  const client = { positions: feeds.cursors.map((cursor) => cursor.position()), id: '' }
  const state: SenderState = { isSending: false, mayHaveMore: false, isBeatDue: false }

  const sendBatch = async () => {
    state.mayHaveMore = false
    const batch = await nextBatch(feeds, client)
    if (state.isBeatDue) batch.parts.push(idText(feeds, client))
    state.isBeatDue = false
    if (batch.parts.length > 0 && !(await stream.send(batch.parts))) return
    options.onSent(batch.events)
    if (batch.over) stream.end('failed')
    state.mayHaveMore ||= !batch.caughtUp
    if (!(options.lasting || state.mayHaveMore)) stream.end('client')
  }
  const send = async () => {
    if (state.isSending) return
    state.isSending = true
    try {
      while (state.mayHaveMore && !stream.hasEnded()) await sendBatch()
    } catch (err) {
      options.onFailure(err)
    } finally {
      state.isSending = false
    }
  }
  const notify = () => {
    state.mayHaveMore = true
    void send()
  }
  const beat = () => {
    state.isBeatDue = true
    notify()
  }
  return { notify, beat }
}

/** What the client has: the positions in the feeds, and the last id. */
interface ClientState {
  readonly positions: number[]
  id: string
}

interface Batch {
  readonly parts: (string | Buffer)[]
  events: number
  caughtUp: boolean
  over: boolean
}

async function nextBatch(
  { cursors, idOf, otherTexts }: Feeds,
  client: ClientState,
): Promise<Batch> {
  const others = otherTexts?.() ?? []
  const batch: Batch = {
    parts: others.map(({ text }) => text),
    events: others.length,
    caughtUp: true,
    over: false,
  }
  for (const [i, cursor] of cursors.entries()) {
    const { texts, caughtUp, over } = await nextTexts(cursor)
    for (const { seq, hasIds, text, events } of texts) {
      if (seq !== undefined) {
        client.positions[i] = seq
        client.id = idOf(client.positions)
        if (hasIds !== true) batch.parts.push(`id: ${client.id}\n`)
      }
      batch.parts.push(text)
      batch.events += events
    }
    client.positions[i] = cursor.position()
    batch.caughtUp &&= caughtUp
    batch.over ||= over
  }
  return batch
}

async function nextTexts(cursor: FeedCursor): Promise<NextTexts> {
  try {
    return await cursor.next()
  } catch (err) {
    if (!isDatabaseUnavailable(err)) throw err
    await delay(READ_AGAIN_MS, undefined, { ref: false })
    return { texts: [], caughtUp: false, over: false }
  }
}

/**
 * The heartbeat: a comment, or the client's new id where records were read that do not pass its filter. A block without
 * data is no event, but a client that connects again sends its id.
 */
function idText({ idOf }: Feeds, client: ClientState): string {
  const id = idOf(client.positions)
  if (id === client.id) return ':\n\n'
  client.id = id
  return `id: ${id}\n\n`
}
