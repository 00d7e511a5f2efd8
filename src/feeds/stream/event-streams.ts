import { STREAMS, type StreamName } from '../../platform/base/kinds.ts'
import { type EventStream, openEventStream } from '../../platform/http/event-stream.ts'
import { type ProblemCode, ProblemError, problemOf } from '../../platform/http/problems.ts'
import type { Metrics } from '../../platform/metrics/metrics.ts'
import { createSender, type Feeds, type Sender } from './send-events.ts'

export interface Following extends Feeds {
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
  /** Checks the keys of all streams now, and ends those whose key is no longer valid. */
  reauthorize(): void
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
  const streams = new Set<Open>()
  const retryMs = ({ from, spread }: typeof RETRY_MS) => Math.round(from + random() * spread)
  const reauthorizeAll = () => {
    for (const open of streams) void reauthorizeOne(open)
  }
  const beat = () => {
    for (const { sender } of streams) sender.beat()
  }
  // Without a stream the gauge is 0. A series that is missing means that the process is gone.
  for (const stream of STREAMS) metrics.streamOpen.set({ stream }, 0)
  const timers = [
    setInterval(reauthorizeAll, options.reauthorizeEveryMs ?? REAUTHORIZE_EVERY_MS).unref(),
    setInterval(beat, options.heartbeatEveryMs ?? HEARTBEAT_EVERY_MS).unref(),
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

/** An unavailable database ends no stream. */
async function reauthorizeOne({ stream, reauthorize }: Open): Promise<void> {
  try {
    await reauthorize()
  } catch (err) {
    if (err instanceof ProblemError) stream.end('refused', problemText(err.code))
  }
}

function problemText(code: ProblemCode): string {
  return `event: problem\ndata: ${JSON.stringify(problemOf(code))}\n\n`
}
