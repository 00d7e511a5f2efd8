import { expect } from 'vitest'
import { pacedRate, readClosedSeconds } from '../../src/schedule/claim.ts'
import { it } from '../support/test-database.ts'
import { breakerOn, callThrough, ENDS, passHealth, permitOf } from '../upstream/health-fixtures.ts'

it('the rate is the whole budget where the errors breaker never was open', async ({ db }) => {
  const ago = await readClosedSeconds(db)

  expect(ago).toBeNull()
  expect(pacedRate(10, ago)).toBe(10)
})

it('the rate climbs for a minute after the errors breaker has closed', async ({ db }) => {
  const breaker = breakerOn(db)
  await breaker.acquirePermit('verify')
  for (let i = 0; i < 20; i += 1) {
    void breaker.report('verify', ENDS.timeout, permitOf())
  }
  await breaker.close()
  await passHealth(db, 5_000)
  await callThrough(breakerOn(db), 'good')

  const rates: number[] = []
  for (const seconds of [0, 15, 15, 30]) {
    await passHealth(db, seconds * 1000)
    rates.push(pacedRate(120, await readClosedSeconds(db)))
  }

  // Real time passes too between the statements.
  for (const [i, least] of [12, 30, 60, 120].entries()) {
    expect(rates[i]).toBeGreaterThanOrEqual(least)
    expect(rates[i]).toBeLessThan(least + 25)
  }
})
