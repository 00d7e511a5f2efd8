import { setTimeout as delay } from 'node:timers/promises'

const POLL_MS = 10

/**
 * Polls until `poll` returns a value that is neither undefined nor false. After the timeout it throws an error that names
 * `what`. The timeout is generous: it ends a test that hangs and says nothing about expected durations.
 */
export async function until<T>(
  what: string,
  poll: () => Promise<T | undefined | false> | T | undefined | false,
  timeoutMs = 100_000,
): Promise<T> {
  const end = Date.now() + timeoutMs
  for (;;) {
    const value = await poll()
    if (value !== undefined && value !== false) return value
    if (Date.now() > end) throw new Error(`${what}: not within ${timeoutMs} ms`)
    await delay(POLL_MS)
  }
}
