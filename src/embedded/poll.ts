import { systemClock } from '../base/clock.ts'

export interface Patience {
  readonly timeoutMs: number
  readonly everyMs: number
}

/**
 * Asks until there is something other than undefined; undefined after `timeoutMs`.
 *
 * Other processes' ends and files send no event that works on every system.
 */
export async function poll<T>(
  ask: () => Promise<T | undefined>,
  { timeoutMs, everyMs }: Patience,
): Promise<T | undefined> {
  const deadline = performance.now() + timeoutMs
  for (;;) {
    const answer = await ask()
    if (answer !== undefined || performance.now() > deadline) return answer
    await systemClock.sleep(everyMs)
  }
}
