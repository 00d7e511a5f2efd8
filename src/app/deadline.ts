import { withTimeout } from '../base/timeout.ts'

/** What admin endpoints give a store to answer. */
export const CHECK_DEADLINE_MS = 2_000

/** Resolves or rejects as the work does, or rejects with TimeoutError: it may still answer later. */
export function withinCheck<T>(work: Promise<T>): Promise<T> {
  return withTimeout(work, CHECK_DEADLINE_MS)
}
