import { expect, it } from 'vitest'
import { skewOf, waitForSlot } from '../../src/upstream/budget/take-slot.ts'

const NOW = Date.parse('2026-03-01T00:00:00Z')
const { signal } = new AbortController()
const SURE = { skewMs: 0, unsureMs: 0, signal }

/** A clock whose sleeps last `oversleepMs` longer than requested. */
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

it('the caller sleeps until its slot', async () => {
  const clock = clockAt(NOW)

  expect((await waitForSlot(slotIn(1_200), { ...SURE, clock }))?.isUsable()).toBe(true)
  expect(clock.slept).toEqual([1_200])
})

it.each([600_000, -600_000])('the database clock decides, with a skew of %i ms', async (skewMs) => {
  const clock = clockAt(NOW - skewMs)

  const slot = await waitForSlot(slotIn(1_200), { ...SURE, clock, skewMs })

  expect(slot?.now()).toEqual(slotIn(1_200))
  expect(clock.slept).toEqual([1_200])
})

it.each([
  [-999, true],
  [-1_000, true],
  [-1_001, false],
])('a slot %i ms from now is usable: %s', async (ms, usable) => {
  const clock = clockAt(NOW)

  expect((await waitForSlot(slotIn(ms), { ...SURE, clock })) !== undefined).toBe(usable)
  expect(clock.slept).toEqual([])
})

it('a slot is discarded after a sleep that lasted too long', async () => {
  const clock = clockAt(NOW, 1_001)

  expect(await waitForSlot(slotIn(500), { ...SURE, clock })).toBeUndefined()
})

it.each([
  [200, true],
  [1_001, false],
])(
  'a slot that may be too late is not usable: the database took %i ms to return its time: %s',
  async (ms, usable) => {
    const clock = clockAt(NOW)
    const askedMs = NOW
    await clock.sleep(ms)
    // The database read its clock at some time between the query and its answer.
    const skew = skewOf(slotIn(0), { clock, askedMs })

    expect(skew).toEqual({ skewMs: -ms, unsureMs: ms })
    expect((await waitForSlot(slotIn(400), { ...skew, clock, signal })) !== undefined).toBe(usable)
    expect(clock.slept).toEqual([ms, 400])
  },
)
