import { type BackoffPolicy, backoffMs } from '../base/backoff.ts'
import type { Clock } from '../base/clock.ts'
import type { Logger } from '../base/logger.ts'
import { failureFields } from './failure-fields.ts'

export interface StoreWatchOptions {
  readonly ping: () => Promise<void>
  readonly log: Logger
  readonly clock: Clock
  readonly random: () => number
}

/** Notices that the store was away, and tells when it is back. */
export interface StoreWatch {
  /** Something went wrong with the store. Cheap, and meant to be called often. */
  suspect(err: unknown): void
  /** Called after each outage, and to be answered by upserting what the store may have lost. */
  onReconnect(listener: () => void): () => void
  close(): void
}

/** Listeners write to the store: one that refuses writes must not keep calling them. */
const MIN_GAP_MS = 5_000
const PROBE_BACKOFF: BackoffPolicy = { baseMs: 200, maxMs: 5_000 }

/**
 * After the first sign of trouble probes until the store answers, then tells the listeners once.
 *
 * A store that answers at once was perhaps restarted in between, and empty: the listeners are told all the same.
 */
export function createStoreWatch({ ping, log, clock, random }: StoreWatchOptions): StoreWatch {
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
        // Away still. The calls that need the store say so themselves.
      }
    }
  }

  async function waitForStore(err: unknown): Promise<void> {
    log.warn(failureFields(err), 'queue store lost')
    await probe()
    if (closing.signal.aborted) return
    log.info('queue store answers again')
    quietUntil = clock.now().getTime() + MIN_GAP_MS
    for (const listener of listeners) listener()
  }

  return {
    suspect(err) {
      if (probing || closing.signal.aborted) return
      probing = true
      waitForStore(err)
        .catch((failure) => {
          if (!closing.signal.aborted) log.error({ err: failure }, 'queue store watch failed')
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
