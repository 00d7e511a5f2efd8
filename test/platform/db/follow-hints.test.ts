import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { followHints } from '../../../src/platform/db/listener.ts'

describe('following hints', () => {
  beforeEach(() => void vi.useFakeTimers())
  afterEach(() => void vi.useRealTimers())

  it('reads at once, then after 250 ms once more for any number of false hints', async () => {
    let reads = 0
    const hint = followHints(async () => {
      reads += 1
      return false
    })

    for (let i = 0; i < 20_000; i += 1) hint()
    expect(reads).toBe(1)
    await vi.advanceTimersByTimeAsync(249)
    expect(reads).toBe(1)
    await vi.advanceTimersByTimeAsync(1)
    expect(reads).toBe(2)
    await vi.advanceTimersByTimeAsync(10_000)
    expect(reads).toBe(2)
  })

  it('follows true hints without a pause, one read at a time', async () => {
    const ends: (() => void)[] = []
    const hint = followHints(async () => {
      const { promise, resolve } = Promise.withResolvers<void>()
      ends.push(resolve)
      await promise
      return true
    })

    hint()
    hint()
    hint()
    expect(ends).toHaveLength(1)
    ends[0]?.()
    await vi.advanceTimersByTimeAsync(0)
    expect(ends).toHaveLength(2)
    ends[1]?.()
    await vi.advanceTimersByTimeAsync(1_000)
    expect(ends).toHaveLength(2)
  })

  it('goes on after a read that failed', async () => {
    let reads = 0
    const hint = followHints(async () => {
      reads += 1
      throw new Error('no database')
    })

    hint()
    await vi.advanceTimersByTimeAsync(250)
    hint()
    expect(reads).toBe(2)
  })
})
