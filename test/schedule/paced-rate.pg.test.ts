import { expect } from 'vitest'
import { sql } from '../../src/platform/db/database.ts'
import { pacedRate, readTrouble } from '../../src/schedule/dispatch-checks.ts'
import { it } from '../support/test-database.ts'
import {
  breakerOn,
  callThrough,
  ENDS,
  passHealth,
  permitOf,
  putState,
} from '../upstream/health-fixtures.ts'

it('the rate is the whole budget where there never was trouble', async ({ db }) => {
  const trouble = await readTrouble(db)

  expect(trouble).toEqual({ open: false, closedSecondsAgo: null })
  expect(pacedRate(10, trouble)).toBe(10)
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
    rates.push(pacedRate(120, await readTrouble(db)))
  }

  // Real time passes too between the statements.
  for (const [i, least] of [12, 30, 60, 120].entries()) {
    expect(rates[i]).toBeGreaterThanOrEqual(least)
    expect(rates[i]).toBeLessThan(least + 25)
  }
})

it.for([
  { incident: 50, breaker: 10, rate: 20 },
  { incident: 10, breaker: 50, rate: 20 },
])(
  'counts from the later end: incident $incident s ago, breaker $breaker s ago',
  async (ago, { db }) => {
    await sql`
    insert into incident (kind, closed_at)
    values ('upstream_trouble', clock_timestamp() - make_interval(secs => ${ago.incident}))
  `.execute(db)
    await putState(db, ['verify', 'errors'], { closedAtMs: Date.now() - ago.breaker * 1000 })

    const rate = pacedRate(120, await readTrouble(db))
    expect(rate).toBeGreaterThanOrEqual(ago.rate)
    expect(rate).toBeLessThan(ago.rate + 25)
  },
)

it('the rate is a tenth while the incident is open, whatever the state of the breaker', async ({
  db,
}) => {
  await sql`insert into incident (kind) values ('upstream_trouble')`.execute(db)

  expect(pacedRate(100, await readTrouble(db))).toBe(10)
})
