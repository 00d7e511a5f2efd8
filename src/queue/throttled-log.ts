import type { Logger } from '../base/logger.ts'

export type ThrottledWarn = (message: string, err: unknown) => void

/**
 * Warns at most once every `everyMs` for each message, and says how many lines it held back: a store that is
 * down fails hundreds of times a second.
 */
export function createThrottledWarn(
  log: Logger,
  everyMs: number,
  now: () => number,
): ThrottledWarn {
  const seen = new Map<string, { saidAt: number; suppressed: number }>()
  return (message, err) => {
    const last = seen.get(message)
    if (last !== undefined && now() - last.saidAt < everyMs) {
      last.suppressed += 1
      return
    }
    log.warn({ err, suppressed: last?.suppressed ?? 0 }, message)
    seen.set(message, { saidAt: now(), suppressed: 0 })
  }
}
