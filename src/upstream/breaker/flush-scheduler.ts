import type { Clock } from '../../base/clock.ts'
import { messageOf } from '../../base/errors.ts'
import type { Logger } from '../../base/logger.ts'

/** Outcomes are told together; the upstream is judged no later than this after them. */
const TELL_EVERY_MS = 250

/** When what a process has counted is written: one writing after the other. */
export interface Teller {
  /** Now, or right after the one that is under way. Never rejects. */
  tell(): Promise<void>
  /** A little later, together with what comes until then. */
  tellSoon(): void
  readonly telling: Promise<void> | undefined
  /** Writes what waits. */
  close(): Promise<void>
}

/** What fails is not written again: it would be old by then, and a probe that nobody reports ends with its lease. */
export function createTeller(
  { clock, log }: { clock: Clock; log: Logger },
  write: () => Promise<void>,
): Teller {
  const closing = new AbortController()
  let telling: Promise<void> | undefined
  let waiting: Promise<void> | undefined

  function tell(): Promise<void> {
    const told = (telling ?? Promise.resolve()).then(write).catch((err: unknown) => {
      log.warn({ reason: messageOf(err) }, 'the upstream health could not be written')
    })
    telling = told
    void told.then(() => {
      if (telling === told) telling = undefined
    })
    return told
  }

  return {
    tell,
    tellSoon() {
      waiting ??= clock
        .sleep(TELL_EVERY_MS, closing.signal)
        .catch(() => undefined)
        .then(() => {
          waiting = undefined
          return tell()
        })
    },
    get telling() {
      return telling
    },
    async close() {
      closing.abort()
      await waiting
      await telling
    },
  }
}
