import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { startDeadline } from '../../src/upstream/transport/call-deadline.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

it('a deadline expires at its limit', () => {
  const onEnd = vi.fn()
  const deadline = startDeadline(100, new AbortController().signal)
  deadline.onEnd(onEnd)

  vi.advanceTimersByTime(99)
  expect(onEnd).not.toHaveBeenCalled()
  vi.advanceTimersByTime(1)

  expect(onEnd).toHaveBeenCalledOnce()
  expect(deadline).toMatchObject({ expired: true, ended: true })
})

it('a deadline that the caller ended never counts as expired', () => {
  const onEnd = vi.fn()
  const caller = new AbortController()
  const deadline = startDeadline(100, caller.signal)
  deadline.onEnd(onEnd)

  caller.abort('enough')
  vi.advanceTimersByTime(100)

  expect(onEnd).toHaveBeenCalledOnce()
  expect(deadline).toMatchObject({ expired: false, ended: true })
})

it('a deadline has ended at once if the caller has already aborted', () => {
  const onEnd = vi.fn()
  startDeadline(100, AbortSignal.abort('enough')).onEnd(onEnd)

  expect(onEnd).toHaveBeenCalledOnce()
})

it('a stopped deadline leaves no timer and no listener on the caller’s signal', () => {
  const onEnd = vi.fn()
  const caller = new AbortController()
  const deadline = startDeadline(100, caller.signal)
  deadline.onEnd(onEnd)

  deadline.stop()
  caller.abort('enough')

  expect(vi.getTimerCount()).toBe(0)
  expect(onEnd).not.toHaveBeenCalled()
})
