import { setTimeout as delay } from 'node:timers/promises'

/** Lets requests wait until a reseller's feed has more. */
export interface FeedWatch {
  /**
   * True as soon as the reseller's feed may have gone beyond `after`. False when the time is up, the signal aborts or
   * the watch closes, and at once where the reseller has too many waiting already.
   */
  wait(wanted: FeedWait): Promise<boolean>
  /** Ends every wait, and lets none begin. */
  close(): void
}

export interface FeedWait {
  readonly resellerId: number
  readonly after: number
  readonly ms: number
  readonly signal: AbortSignal
}

export interface FeedWatchOptions {
  /** The last numbers of these resellers' feeds. */
  readonly readHeads: (resellerIds: readonly number[]) => Promise<ReadonlyMap<number, number>>
  /** How long after a record was written somebody hears of it, at most. */
  readonly everyMs?: number
  /** Of one reseller: no other one's requests ever count against it. */
  readonly maxWaiting?: number
}

const EVERY_MS = 500
const MAX_WAITING = 50

interface Waiter extends Pick<FeedWait, 'resellerId' | 'after'> {
  readonly wake: (news: boolean) => void
}

/**
 * One question to the database every half second for all that wait in this process, and none while nobody does:
 * a thousand waiting requests cost what one costs, and hold no connection. A question that fails wakes everybody, who
 * then find out for themselves what is wrong.
 */
export function createFeedWatch(options: FeedWatchOptions): FeedWatch {
  const { readHeads, everyMs = EVERY_MS, maxWaiting = MAX_WAITING } = options
  const waiting = new Set<Waiter>()
  const ending = new AbortController()
  let polling = false

  const poll = async () => {
    polling = true
    while (waiting.size > 0) {
      await delay(everyMs, undefined, { ref: false })
      const asked = [...waiting]
      if (asked.length === 0) break
      const heads = await readHeads([...new Set(asked.map(({ resellerId }) => resellerId))]).catch(
        () => undefined,
      )
      for (const { resellerId, after, wake } of asked) {
        if (heads === undefined || (heads.get(resellerId) ?? 0) > after) wake(true)
      }
    }
    polling = false
  }

  return {
    wait: ({ resellerId, after, ms, signal }) => {
      const already = [...waiting].filter((waiter) => waiter.resellerId === resellerId)
      if (already.length >= maxWaiting) return Promise.resolve(false)
      const wait = { resellerId, after, ms, signal: AbortSignal.any([signal, ending.signal]) }
      const done = waitIn(waiting, wait)
      if (!polling) void poll()
      return done
    },
    close: () => ending.abort(),
  }
}

/** Stands among those that wait until it is woken, the time is up or the signal aborts. */
function waitIn(
  waiting: Set<Waiter>,
  { resellerId, after, ms, signal }: FeedWait,
): Promise<boolean> {
  if (signal.aborted) return Promise.resolve(false)
  return new Promise((resolve) => {
    const wake = (news: boolean) => {
      clearTimeout(timer)
      signal.removeEventListener('abort', giveUp)
      waiting.delete(waiter)
      resolve(news)
    }
    const giveUp = () => wake(false)
    const timer = setTimeout(giveUp, ms)
    const waiter = { resellerId, after, wake }
    signal.addEventListener('abort', giveUp, { once: true })
    waiting.add(waiter)
  })
}
