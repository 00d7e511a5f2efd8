import { expect, it } from 'vitest'
import { skewOf, waitForSlot } from '../../src/upstream/budget/take-slot.ts'

const NOW = Date.parse('2026-03-01T00:00:00Z')
const { signal } = new AbortController()
const SURE = { skewMs: 0, unsureMs: 0, signal }

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

  expect((await waitForSlot(slotIn(1_200), { ...SURE, clock }))?.isUsable()).toBe(true)
  expect(clock.slept).toEqual([1_200])
})

it.each([600_000, -600_000])('goes by the clock of the database, %i ms away', async (skewMs) => {
  const clock = clockAt(NOW - skewMs)

  const slot = await waitForSlot(slotIn(1_200), { ...SURE, clock, skewMs })

  expect(slot?.now()).toEqual(slotIn(1_200))
  expect(clock.slept).toEqual([1_200])
})

it.each([
  [-999, true],
  [-1_000, true],
  [-1_001, false],
])('takes a slot %i ms from now for usable: %s', async (ms, usable) => {
  const clock = clockAt(NOW)

  expect((await waitForSlot(slotIn(ms), { ...SURE, clock })) !== undefined).toBe(usable)
  expect(clock.slept).toEqual([])
})

it('discards a slot that it overslept', async () => {
  const clock = clockAt(NOW, 1_001)

  expect(await waitForSlot(slotIn(500), { ...SURE, clock })).toBeUndefined()
})

it('discards a slot that no reservation can have given, without waiting for it', async () => {
  const clock = clockAt(NOW)

  expect(await waitForSlot(slotIn(600_000), { ...SURE, clock })).toBeUndefined()
  expect(clock.slept).toEqual([])
})

it('looks at a slot again whenever it is asked', async () => {
  const clock = clockAt(NOW)
  const slot = await waitForSlot(slotIn(500), { ...SURE, clock })

  await clock.sleep(1_000)
  expect(slot?.isUsable()).toBe(true)
  await clock.sleep(1)
  expect(slot?.isUsable()).toBe(false)
})

it.each([
  [200, true],
  [1_001, false],
])(
  'takes no slot that may be too late: a database that took %i ms to tell its time',
  async (ms, usable) => {
    const clock = clockAt(NOW)
    const askedMs = NOW
    await clock.sleep(ms)
    // It was this time when the database was asked, or when it was heard, or in between.
    const skew = skewOf(slotIn(0), { clock, askedMs })

    expect(skew).toEqual({ skewMs: -ms, unsureMs: ms })
    expect((await waitForSlot(slotIn(400), { ...skew, clock, signal })) !== undefined).toBe(usable)
    expect(clock.slept).toEqual([ms, 400])
  },
)

it('rejects with the reason of a signal that has aborted', async () => {
  const reason = new Error('gave up')
  const options = { ...SURE, clock: clockAt(NOW), signal: AbortSignal.abort(reason) }

  await expect(waitForSlot(slotIn(0), options)).rejects.toBe(reason)
})
