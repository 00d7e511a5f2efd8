import type { Clock } from '../platform/base/clock.ts'
import { AppError, messageOf } from '../platform/base/errors.ts'
import type { Logger } from '../platform/base/logger.ts'
import { withTimeout } from '../platform/base/timeout.ts'

/** A part of a running process that must be stopped. */
export interface Part {
  readonly name: string
  /** How long stopping may take. */
  readonly graceMs: number
  /** Stops the part within the time that is left. */
  stop(graceMs: number): Promise<void>
}

/** Some parts did not stop in time. The process ends anyway, and other processes continue their work. */
export class StopTimeoutError extends AppError {
  override readonly name = 'StopTimeoutError'
  override readonly code = 'app.stop_timeout'
  override readonly retryable = true

  constructor(parts: readonly string[]) {
    super(`did not stop in time: ${parts.join(', ')}; their work continues at the next start`)
  }
}

/** The time that is reserved for each later part. */
const RESERVE_MS = 250
/** A part may exceed its time by this much, because timers are late. */
const TOLERANCE_MS = 100

/**
 * Stops the parts, the last started first, each within its own time and all within `graceMs`. A part that hangs takes no
 * time from the parts after it. Returns the names of the parts that did not stop. Never rejects.
 */
export async function stopInOrder(
  parts: readonly Part[],
  { graceMs, clock, log }: { graceMs: number; clock: Clock; log: Logger },
): Promise<string[]> {
  const endsAt = clock.now().getTime() + graceMs
  const left: string[] = []
  for (const [i, part] of parts.toReversed().entries()) {
    const later = parts.slice(0, parts.length - 1 - i)
    const reserved = later.reduce((sum, { graceMs: own }) => sum + Math.min(own, RESERVE_MS), 0)
    const ms = Math.max(0, Math.min(part.graceMs, endsAt - clock.now().getTime() - reserved))
    await withTimeout(part.stop(ms), ms + TOLERANCE_MS).catch((err: unknown) => {
      left.push(part.name)
      log.warn({ part: part.name, reason: messageOf(err) }, 'a part did not stop in time')
    })
  }
  return left
}
