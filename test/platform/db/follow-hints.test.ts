import { setImmediate } from 'node:timers/promises'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { followHints } from '../../../src/platform/db/listener.ts'

/** A read that ends when the test says whether its hint was true. */
function controlled() {
  const ends: ((isTrue: boolean) => void)[] = []
  let reads = 0
  const hint = followHints(() => {
    reads += 1
    return new Promise((resolve) => ends.push(resolve))
  })
  const end = async (isTrue: boolean) => {
    ends.shift()?.(isTrue)
    await setImmediate()
  }
  return { hint, end, reads: () => reads }
}

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout'] })
})
afterEach(() => {
  vi.useRealTimers()
})

it('hints that come during a read cause one more, at once after a true one', async () => {
  const { hint, end, reads } = controlled()
  for (let n = 0; n < 1_000; n += 1) hint()
  expect(reads()).toBe(1)
  await end(true)
  expect(reads()).toBe(2)
})

it('the false hint after a true one delays no other: it may be of what was found, as it came while that was read', async () => {
  const { hint, end, reads } = controlled()
  hint()
  hint()
  await end(true)
  await end(false)
  hint()
  expect(reads()).toBe(3)
})

it('of false hints in a row all but one in 250 ms are ignored', async () => {
  const { hint, end, reads } = controlled()
  hint()
  await end(false)
  for (let n = 0; n < 1_000; n += 1) hint()
  expect(reads()).toBe(1)
  vi.advanceTimersByTime(249)
  expect(reads()).toBe(1)
  vi.advanceTimersByTime(1)
  expect(reads()).toBe(2)
})
