import { type BackoffPolicy, backoffMs } from '../base/clock.ts'
import type { QueueContext } from './queue-connection.ts'
import { failureFields, isStoreUnavailable } from './queue-errors.ts'

export interface StoreMonitorOptions extends Pick<QueueContext, 'log' | 'clock' | 'random'> {
  readonly ping: () => Promise<void>
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

/** Logs the errors of all workers of a process, with a limit. */
export interface WorkerErrors {
  record(queue: string, err: unknown): void
  /** Records that the store has answered a worker. Cheap, and meant to be called often. */
  recordAnswer(): void
}

interface Trouble {
  /** The affected queue; undefined if the store is down. */
  readonly queue: string | undefined
  open: boolean
  sinceMs: number
  lastMs: number
  loggedMs: number
  suppressed: number
}

const EVERY_MS = 60_000
const UNAVAILABLE = 'unavailable'

/**
 * Logs each kind of error when it begins, at most once a minute while it lasts, with the number of suppressed
 * lines, and when it is over: the store has answered, and nothing failed for the time between two polls.
 *
 * An unavailable store is one kind for all workers: each of them fails hundreds of times a second. The limit of one
 * line a minute also holds for an error that comes and goes.
 */
export function createWorkerErrors({
  log,
  clock,
  timings,
}: Pick<QueueContext, 'log' | 'clock' | 'timings'>): WorkerErrors {
  const kinds = new Map<string, Trouble>()
  const now = () => clock.now().getTime()

  function begin(kind: string, queue: string | undefined): Trouble {
    const before = kinds.get(kind) ?? { loggedMs: Number.NEGATIVE_INFINITY, suppressed: 0 }
    const trouble = { ...before, queue, open: true, sinceMs: now(), lastMs: now() }
    kinds.set(kind, trouble)
    return trouble
  }

  return {
    record(queue, err) {
      const kind = isStoreUnavailable(err) ? UNAVAILABLE : kindOf(queue, err)
      const known = kinds.get(kind)
      const trouble =
        known?.open === true ? known : begin(kind, kind === UNAVAILABLE ? undefined : queue)
      trouble.lastMs = now()
      if (now() - trouble.loggedMs < EVERY_MS) {
        trouble.suppressed += 1
        return
      }
      const { suppressed } = trouble
      const fields = { queue: trouble.queue, ...failureFields(err), suppressed }
      log.warn(fields, 'queue worker error')
      trouble.loggedMs = now()
      trouble.suppressed = 0
    },

    recordAnswer() {
      for (const trouble of kinds.values()) {
        const { queue, open, sinceMs, lastMs, loggedMs, suppressed } = trouble
        if (!open || now() - lastMs < timings.pollMs) continue
        trouble.open = false
        if (loggedMs < sinceMs) continue
        log.info({ queue, lastedMs: lastMs - sinceMs, suppressed }, 'queue worker error is over')
        trouble.suppressed = 0
      }
    },
  }
}

/** The message is left out: it may name a job, and there should be few kinds. */
function kindOf(queue: string, err: unknown): string {
  const { name, code } = (err ?? {}) as { name?: unknown; code?: unknown }
  return `${queue} ${name} ${code}`
}
