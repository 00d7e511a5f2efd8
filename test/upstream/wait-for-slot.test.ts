import { expect, it } from 'vitest'
import { waitForSlot } from '../../src/upstream/budget.ts'

const NOW = Date.parse('2026-03-01T00:00:00Z')
const { signal } = new AbortController()

/** A clock whose sleeps last as long as they are asked to, and `oversleepMs` more. */
function clockAt(startMs: number, oversleepMs = 0) {
  let now = startMs
  const slept: number[] = []
  return {
    slept,
    now: () => new Date(now),
    sleep: async (ms: number) => {
      slept.push(ms)
      now += ms + oversleepMs
    },
  }
}

function slotIn(ms: number): Date {
  return new Date(NOW + ms)
}

it('sleeps until the slot', async () => {
  const clock = clockAt(NOW)

  expect(await waitForSlot(slotIn(1_200), { clock, skewMs: 0, signal })).toBe(true)
  expect(clock.slept).toEqual([1_200])
})

it.each([600_000, -600_000])('goes by the clock of the database, %i ms away', async (skewMs) => {
  const clock = clockAt(NOW - skewMs)

  expect(await waitForSlot(slotIn(1_200), { clock, skewMs, signal })).toBe(true)
  expect(clock.slept).toEqual([1_200])
})

it.each([
  [-999, true],
  [-1_000, true],
  [-1_001, false],
])('takes a slot %i ms from now for usable: %s', async (ms, usable) => {
  const clock = clockAt(NOW)

  expect(await waitForSlot(slotIn(ms), { clock, skewMs: 0, signal })).toBe(usable)
  expect(clock.slept).toEqual([])
})

it('discards a slot that it overslept', async () => {
  const clock = clockAt(NOW, 1_001)

  expect(await waitForSlot(slotIn(500), { clock, skewMs: 0, signal })).toBe(false)
})

it('discards a slot that no reservation can have given, without waiting for it', async () => {
  const clock = clockAt(NOW)

  expect(await waitForSlot(slotIn(600_000), { clock, skewMs: 0, signal })).toBe(false)
  expect(clock.slept).toEqual([])
})

it('rejects with the reason of a signal that has aborted', async () => {
  const reason = new Error('gave up')
  const options = { clock: clockAt(NOW), skewMs: 0, signal: AbortSignal.abort(reason) }

  await expect(waitForSlot(slotIn(0), options)).rejects.toBe(reason)
})
