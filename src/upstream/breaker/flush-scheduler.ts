import type { Clock } from '../../base/clock.ts'
import { messageOf } from '../../base/errors.ts'
import type { Logger } from '../../base/logger.ts'

/** Outcomes are written together, at most this long after they occur. */
const FLUSH_EVERY_MS = 250

/** Decides when counted outcomes are written. Only one write runs at a time. */
export interface FlushScheduler {
  /** Writes now, or directly after the running write. Never rejects. */
  flush(): Promise<void>
  /** Writes a little later, together with what is counted until then. */
  flushSoon(): void
  readonly flushing: Promise<void> | undefined
  /** Writes what is pending. */
  close(): Promise<void>
}

/** A failed write is not repeated: its counts would be out of date, and the lease of a lost probe ends by itself. */
export function createFlushScheduler(
  { clock, log }: { clock: Clock; log: Logger },
  write: () => Promise<void>,
): FlushScheduler {
  const closing = new AbortController()
  let flushing: Promise<void> | undefined
  let scheduled: Promise<void> | undefined

  function flush(): Promise<void> {
    const written = (flushing ?? Promise.resolve()).then(write).catch((err: unknown) => {
      log.warn({ reason: messageOf(err) }, 'the upstream health could not be written')
    })
    flushing = written
    void written.then(() => {
      if (flushing === written) flushing = undefined
    })
    return written
  }

  return {
    flush,
    flushSoon() {
      scheduled ??= clock
        .sleep(FLUSH_EVERY_MS, closing.signal)
        .catch(() => undefined)
        .then(() => {
          scheduled = undefined
          return flush()
        })
    },
    get flushing() {
      return flushing
    },
    async close() {
      closing.abort()
      await scheduled
      await flushing
    },
  }
}
