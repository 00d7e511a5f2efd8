import { setTimeout as delay } from 'node:timers/promises'

const POLL_MS = 10

/** Polls until `ask` gives a value that is neither undefined nor false; fails after the deadline, saying of what. */
export async function until<T>(
  what: string,
  ask: () => Promise<T | undefined | false> | T | undefined | false,
  deadlineMs = 20_000,
): Promise<T> {
  const end = Date.now() + deadlineMs
  for (;;) {
    const value = await ask()
    if (value !== undefined && value !== false) return value
    if (Date.now() > end) throw new Error(`${what}: not within ${deadlineMs} ms`)
    await delay(POLL_MS)
  }
}
