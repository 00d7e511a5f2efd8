import { setTimeout as delay } from 'node:timers/promises'

/** Lets requests wait until the feed of a reseller has more records. */
export interface FeedPoller {
  /**
   * True as soon as the reseller's feed may have grown beyond `after`. False when the time is up, the signal aborts or the
   * poller closes, and at once where the reseller has too many waiting requests.
   */
  wait(wanted: FeedWait): Promise<boolean>
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
  /** The longest time from a record to the end of the waits for it. */
  readonly everyMs?: number
  /** Of one reseller: requests of other resellers do not count. */
  readonly maxWaiting?: number
}

const EVERY_MS = 500
const MAX_WAITING = 50

interface Waiter extends Pick<FeedWait, 'resellerId' | 'after'> {
  readonly end: (mayHaveMore: boolean) => void
}

/**
 * Runs one query every half second for all waiting requests of this process, and none while there are none: a thousand
 * waiting requests cost as much as one, and hold no connection. A query that fails ends all waits; each request then
 * meets the error itself.
 */
export function createFeedPoller(options: FeedPollerOptions): FeedPoller {
  const { readHeads, everyMs = EVERY_MS, maxWaiting = MAX_WAITING } = options
  const waiters = new Set<Waiter>()
  const closing = new AbortController()
  let isPolling = false

  const poll = async () => {
    isPolling = true
    while (waiters.size > 0) {
      await delay(everyMs, undefined, { ref: false })
      const current = [...waiters]
      if (current.length === 0) break
      const ids = new Set(current.map(({ resellerId }) => resellerId))
      const heads = await readHeads([...ids]).catch(() => undefined)
      for (const { resellerId, after, end } of current) {
        if (heads === undefined || (heads.get(resellerId) ?? 0) > after) end(true)
      }
    }
    isPolling = false
  }

  return {
    wait: ({ resellerId, after, ms, signal }) => {
      const ofReseller = [...waiters].filter((waiter) => waiter.resellerId === resellerId)
      if (ofReseller.length >= maxWaiting) return Promise.resolve(false)
      const wait = { resellerId, after, ms, signal: AbortSignal.any([signal, closing.signal]) }
      const ended = addWaiter(waiters, wait)
      if (!isPolling) void poll()
      return ended
    },
    close: () => closing.abort(),
  }
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
