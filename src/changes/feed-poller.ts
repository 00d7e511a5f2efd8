import { setTimeout as delay } from 'node:timers/promises'

/** Lets requests wait until the feed of a reseller has more records. */
export interface FeedPoller {
  /**
   * True as soon as the reseller's feed may have grown beyond `after`. False when the time is up, the signal aborts or the
   * poller closes, and at once where the reseller has too many waiting requests.
   */
  wait(wanted: FeedWait): Promise<boolean>
  /** Reads the feed of this reseller now because it has more records. Without an id, reads every awaited feed. */
  pollNow(resellerId?: number): void
  /** Ends every wait; later ones end at once. */
  close(): void
}

export interface FeedWait {
  readonly resellerId: number
  readonly after: number
  readonly ms: number
  readonly signal: AbortSignal
}

export interface FeedPollerOptions {
  /** The last numbers of these resellers' feeds. */
  readonly readHeads: (resellerIds: readonly number[]) => Promise<ReadonlyMap<number, number>>
  /** How often the feeds are read without a notification. */
  readonly everyMs?: number
  /** The limit of waits of one reseller. Waits of other resellers do not count. */
  readonly maxWaiting?: number
}

/** A notification polls at once. This finds the records whose notification was lost. */
const EVERY_MS = 2_000
const MAX_WAITING = 50

interface Waiter extends Pick<FeedWait, 'resellerId' | 'after'> {
  readonly end: (mayHaveMore: boolean) => void
}

/**
 * Reads the heads of the feeds that requests of this process wait for: when a wait begins, because a record may have been
 * written since its request read the feed; at each notification; and every two seconds. One query runs at a time for all
 * waits, and none while there are none: a thousand waiting requests hold no connection. A query that fails ends all
 * waits; each request then meets the error itself.
 */
export function createFeedPoller(options: FeedPollerOptions): FeedPoller {
  const { readHeads, everyMs = EVERY_MS, maxWaiting = MAX_WAITING } = options
  const waiters = new Set<Waiter>()
  const closing = new AbortController()
  let isPolling = false
  let pause = new AbortController()

  const poll = async () => {
    isPolling = true
    while (waiters.size > 0) {
      pause = new AbortController()
      const current = [...waiters]
      const ids = new Set(current.map(({ resellerId }) => resellerId))
      const heads = await readHeads([...ids]).catch(() => undefined)
      for (const { resellerId, after, end } of current) {
        if (heads === undefined || (heads.get(resellerId) ?? 0) > after) end(true)
      }
      if (waiters.size > 0) await sleep(everyMs, pause.signal)
    }
    isPolling = false
  }

  return {
    wait: ({ resellerId, after, ms, signal }) => {
      const ofReseller = [...waiters].filter((waiter) => waiter.resellerId === resellerId)
      if (ofReseller.length >= maxWaiting) return Promise.resolve(false)
      const wait = { resellerId, after, ms, signal: AbortSignal.any([signal, closing.signal]) }
      const ended = addWaiter(waiters, wait)
      pause.abort()
      if (!isPolling) void poll()
      return ended
    },
    pollNow: (resellerId) => {
      const isWaiting = [...waiters].some((waiter) => waiter.resellerId === resellerId)
      if (resellerId === undefined || isWaiting) pause.abort()
    },
    close: () => closing.abort(),
  }
}

/** Ends early when the signal aborts. */
async function sleep(ms: number, signal: AbortSignal): Promise<void> {
  await delay(ms, undefined, { ref: false, signal }).catch(() => undefined)
}

/** Resolves when the waiter is ended, the time is up or the signal aborts. */
function addWaiter(
  waiters: Set<Waiter>,
  { resellerId, after, ms, signal }: FeedWait,
): Promise<boolean> {
  if (signal.aborted) return Promise.resolve(false)
  return new Promise((resolve) => {
    const end = (mayHaveMore: boolean) => {
      clearTimeout(timer)
      signal.removeEventListener('abort', giveUp)
      waiters.delete(waiter)
      resolve(mayHaveMore)
    }
    const giveUp = () => end(false)
    const timer = setTimeout(giveUp, ms)
    const waiter = { resellerId, after, end }
    signal.addEventListener('abort', giveUp, { once: true })
    waiters.add(waiter)
  })
}
