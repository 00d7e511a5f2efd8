import { setTimeout as delay } from 'node:timers/promises'

/** Time as an input. Code that needs the time takes a Clock, so that tests can control it. */
export interface Clock {
  now(): Date
  /** Rejects with the signal's reason when it aborts first. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>
}

export const systemClock: Clock = {
  now: () => new Date(),
  sleep: async (ms, signal) => {
    await delay(ms, undefined, signal ? { signal } : {})
  },
}
