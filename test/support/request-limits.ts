import { onTestFinished, vi } from 'vitest'
import type { RequestLimitOptions } from '../../src/platform/http/request-limits.ts'

/** Limits of an API in a test: a busy machine overloads nothing, and refusals come at once. */
export function requestLimits(requestsPerSecond = 1_000): RequestLimitOptions {
  return { requestsPerSecond, refusalMs: 0, maxLoopDelayMs: Number.POSITIVE_INFINITY }
}

/** Keeps the window of the rate limit from ending while a busy machine runs the test. */
export function freezeDate(): void {
  vi.useFakeTimers({ toFake: ['Date'] })
  onTestFinished(() => void vi.useRealTimers())
}
