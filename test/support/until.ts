import { setTimeout as delay } from 'node:timers/promises'

const POLL_MS = 10

/**
 * Polls until `ask` gives a value that is neither undefined nor false. After the deadline it fails and names what it
 * waited for. The deadline is no expectation: it only ends a test that hangs, however busy the machine is.
 */
export async function until<T>(
  what: string,
  ask: () => Promise<T | undefined | false> | T | undefined | false,
  deadlineMs = 100_000,
): Promise<T> {
  const end = Date.now() + deadlineMs
  for (;;) {
    const value = await ask()
    if (value !== undefined && value !== false) return value
    if (Date.now() > end) throw new Error(`${what}: not within ${deadlineMs} ms`)
    await delay(POLL_MS)
  }
}
