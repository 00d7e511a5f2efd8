import { type BackoffPolicy, backoffMs } from '../base/backoff.ts'
import type { Clock } from '../base/clock.ts'
import type { Logger } from '../base/logger.ts'
import { failureFields } from './job-errors.ts'

export interface StoreMonitorOptions {
  readonly ping: () => Promise<void>
  readonly log: Logger
  readonly clock: Clock
  readonly random: () => number
}

/** Detects outages of the store and reports their end. */
export interface StoreMonitor {
  /** Reports an error of the store. Cheap, and meant to be called often. */
  reportError(err: unknown): void
  /** The listener runs after each outage and should create again what the store may have lost. */
  onReconnect(listener: () => void): () => void
  close(): void
}

/** Listeners write to the store. A store that refuses writes must not trigger them in a loop. */
const MIN_GAP_MS = 5_000
const PROBE_BACKOFF: BackoffPolicy = { baseMs: 200, maxMs: 5_000 }

/**
 * After the first error it probes the store until it answers, then calls the listeners once.
 *
 * It calls them even if the store answers at once: the store may have restarted empty in between.
 */
export function createStoreMonitor({
  ping,
  log,
  clock,
  random,
}: StoreMonitorOptions): StoreMonitor {
  const listeners = new Set<() => void>()
  const closing = new AbortController()
  let probing = false
  let quietUntil = 0

  async function probe(): Promise<void> {
    await clock.sleep(Math.max(0, quietUntil - clock.now().getTime()), closing.signal)
    for (let attempt = 0; !closing.signal.aborted; attempt += 1) {
      await clock.sleep(50 + backoffMs(PROBE_BACKOFF, attempt, random), closing.signal)
      try {
        await ping()
        return
      } catch {
        // Still down. Calls that need the store report it themselves.
      }
    }
  }

  async function waitForStore(err: unknown): Promise<void> {
    log.warn(failureFields(err), 'queue store unavailable')
    await probe()
    if (closing.signal.aborted) return
    log.info('queue store is available again')
    quietUntil = clock.now().getTime() + MIN_GAP_MS
    for (const listener of listeners) listener()
  }

  return {
    reportError(err) {
      if (probing || closing.signal.aborted) return
      probing = true
      waitForStore(err)
        .catch((failure) => {
          if (!closing.signal.aborted) log.error({ err: failure }, 'queue store monitor failed')
        })
        .finally(() => {
          probing = false
        })
    },
    onReconnect(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    close() {
      closing.abort()
      listeners.clear()
    },
  }
}
