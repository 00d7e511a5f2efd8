import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { startDeadline } from '../../src/upstream/transport/call-deadline.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

it('expires at its limit', () => {
  const onEnd = vi.fn()
  const deadline = startDeadline(100, new AbortController().signal)
  deadline.onEnd(onEnd)

  vi.advanceTimersByTime(99)
  expect(onEnd).not.toHaveBeenCalled()
  vi.advanceTimersByTime(1)

  expect(onEnd).toHaveBeenCalledOnce()
  expect(deadline).toMatchObject({ expired: true, ended: true })
})

it('follows the caller, which is no expiry, not even later', () => {
  const onEnd = vi.fn()
  const caller = new AbortController()
  const deadline = startDeadline(100, caller.signal)
  deadline.onEnd(onEnd)

  caller.abort('enough')
  vi.advanceTimersByTime(100)

  expect(onEnd).toHaveBeenCalledOnce()
  expect(deadline).toMatchObject({ expired: false, ended: true })
})

it('has ended at once for a caller who has given up before', () => {
  const onEnd = vi.fn()
  startDeadline(100, AbortSignal.abort('enough')).onEnd(onEnd)

  expect(onEnd).toHaveBeenCalledOnce()
})

it('leaves nothing behind: no timer, and nobody on the caller’s signal', () => {
  const onEnd = vi.fn()
  const caller = new AbortController()
  const deadline = startDeadline(100, caller.signal)
  deadline.onEnd(onEnd)

  deadline.stop()
  caller.abort('enough')

  expect(vi.getTimerCount()).toBe(0)
  expect(onEnd).not.toHaveBeenCalled()
})
