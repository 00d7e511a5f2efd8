import { until } from '../support/until.ts'

/** Long enough for a busy machine. A passing test never waits this long. */
const TIMEOUT_MS = 60_000

/** Polls like `until`, with a timeout that suits whole processes. */
export function eventually<T>(
  what: string,
  poll: () => Promise<T | undefined | false> | T | undefined | false,
  timeoutMs = TIMEOUT_MS,
): Promise<T> {
  return until(what, poll, timeoutMs)
}
