import { describe, expect } from 'vitest'
import { nextDispatchMs } from '../../src/schedule/dispatch-checks.ts'
import { it } from '../support/test-database.ts'
import { dispatch, trackFares } from './schedule-fixtures.ts'

/** Whole minutes: a test takes less than half of one. */
const minutesOf = (ms = Number.NaN) => Math.round(ms / 60_000)

describe('the time of the next dispatch', () => {
  it('nothing is due where no fare is on the schedule', async ({ db }) => {
    expect(await nextDispatchMs(db)).toBeUndefined()
  })

  it('the first fare that becomes due is the next', async ({ db }) => {
    await trackFares(db, [{ notBefore: 7_200 }, { notBefore: 3_600 }])

    expect(minutesOf(await nextDispatchMs(db))).toBe(60)
  })

  it('a fare in a lane is due before its minimum interval ends', async ({ db }) => {
    await trackFares(db, [{ notBefore: 3_600 }, { notBefore: 3_600, lane: 'confirmation' }])

    expect(await nextDispatchMs(db)).toBeLessThanOrEqual(0)
  })

  it('fares that are due wait for free slots, not longer', async ({ db }) => {
    await trackFares(
      db,
      Array.from({ length: 100 }, () => ({})),
    )
    expect(await nextDispatchMs(db)).toBeLessThanOrEqual(0)

    // All slots of the next five seconds.
    await dispatch(db, 1)

    expect(await nextDispatchMs(db)).toBeLessThanOrEqual(5_000)
  })

  it('claimed fares are not due', async ({ db }) => {
    await trackFares(db, [{}, { notBefore: 3_600 }])

    await dispatch(db, 100)

    expect(minutesOf(await nextDispatchMs(db))).toBe(60)
  })
})
