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

/** Estimates of the database's clock differ by less from it. */
export const CLOCK_ERROR_MS = 10_000

/** Whether an instant of the past lies ahead of now, because the clock of the database was set back since. */
export function isAhead(ms: number | null, nowMs: number): boolean {
  return ms !== null && ms > nowMs + CLOCK_ERROR_MS
}
