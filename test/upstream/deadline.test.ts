import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { startDeadline } from '../../src/upstream/deadline.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

it('expires at its limit', () => {
  using deadline = startDeadline(100, new AbortController().signal)

  vi.advanceTimersByTime(99)
  expect(deadline.signal.aborted).toBe(false)
  vi.advanceTimersByTime(1)

  expect(deadline).toMatchObject({ expired: true, signal: { aborted: true } })
})

it('follows the caller, which is no expiry, not even later', () => {
  const caller = new AbortController()
  using deadline = startDeadline(100, caller.signal)

  caller.abort('enough')
  vi.advanceTimersByTime(100)

  expect(deadline).toMatchObject({ expired: false, signal: { aborted: true, reason: 'enough' } })
})

it('leaves no timer behind', () => {
  const deadline = startDeadline(100, new AbortController().signal)

  deadline[Symbol.dispose]()

  expect(vi.getTimerCount()).toBe(0)
})
