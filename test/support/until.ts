import { setTimeout as delay } from 'node:timers/promises'

const FIRST_POLL_MS = 5
const LONGEST_POLL_MS = 100

/**
 * Polls until `poll` returns a value that is neither undefined nor false. After the timeout it throws an error that names
 * `what`. The timeout is generous: it ends a test that hangs and says nothing about expected durations. Polls become
 * rarer, because frequent polls of a store slow down the work that the test waits for.
 */
export async function until<T>(
  what: string,
  poll: () => Promise<T | undefined | false> | T | undefined | false,
  timeoutMs = 100_000,
): Promise<T> {
  const end = Date.now() + timeoutMs
  for (let pollMs = FIRST_POLL_MS; ; pollMs = Math.min(1.2 * pollMs, LONGEST_POLL_MS)) {
    const value = await poll()
    if (value !== undefined && value !== false) return value
    if (Date.now() > end) throw new Error(`${what}: not within ${timeoutMs} ms`)
    await delay(pollMs)
  }
}
