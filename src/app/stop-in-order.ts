import type { Clock } from '../base/clock.ts'
import { AppError, messageOf } from '../base/errors.ts'
import type { Logger } from '../base/logger.ts'
import { withTimeout } from '../base/timeout.ts'

/** A part of a running process, and how to end it. */
export interface Part {
  readonly name: string
  /** The longest that its end may take. */
  readonly graceMs: number
  /** Ends it within the time that is left for it. */
  stop(graceMs: number): Promise<void>
}

/** Some parts did not end in time; the process ends all the same, and what they held is taken up again. */
export class LeftBehindError extends AppError {
  override readonly name = 'LeftBehindError'
  override readonly code = 'app.left_behind'
  override readonly retryable = true

  constructor(parts: readonly string[]) {
    super(`did not end in time: ${parts.join(', ')}; what they held is taken up again`)
  }
}

/**
 * Ends the parts, the last started first, each within its own time and all within `graceMs`: one that hangs takes
 * no time from the ones after it. Returns the names of those that did not end. Never rejects.
 */
export async function stopInOrder(
  parts: readonly Part[],
  { graceMs, clock, log }: { graceMs: number; clock: Clock; log: Logger },
): Promise<string[]> {
  const endsAt = clock.now().getTime() + graceMs
  const left: string[] = []
  for (const [i, part] of parts.toReversed().entries()) {
    const later = parts.slice(0, parts.length - 1 - i)
    const reserved = later.reduce((sum, { graceMs: own }) => sum + Math.min(own, SMALL_MS), 0)
    const ms = Math.max(0, Math.min(part.graceMs, endsAt - clock.now().getTime() - reserved))
    await withTimeout(part.stop(ms), ms + PATIENCE_MS).catch((err: unknown) => {
      left.push(part.name)
      log.warn({ part: part.name, reason: messageOf(err) }, 'a part did not end in time')
    })
  }
  return left
}

/** What is kept for each part after the one that ends. */
const SMALL_MS = 250
/** A part that keeps to its time is not blamed for the last moment. */
const PATIENCE_MS = 100
