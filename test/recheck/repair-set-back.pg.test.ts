import { expect } from 'vitest'
import { createMetrics } from '../../src/metrics/metrics.ts'
import { repairSetBack } from '../../src/recheck/repair-set-back.ts'
import { silentLog } from '../support/silent-log.ts'
import { it } from '../support/test-database.ts'
import { complete, dispatch, pass, trackFares } from './recheck-fixtures.ts'

const HOUR = 3_600
const RATE = 10

it('checks go on within a minute, or the interval of their watches, after the clock of the database was set back', async ({
  db,
}) => {
  const metrics = createMetrics()
  const repair = () => repairSetBack({ db, metrics, log: silentLog })
  const setBacks = async () => (await metrics.clockSetBack.get()).values[0]?.value
  const [often = 0, seldom = 0] = await trackFares(db, [{}, { minIntervalSeconds: HOUR }])
  const askedAt = new Date()
  await dispatch(db, RATE)
  await complete(db, [
    { fareId: often, askedAt, next: { confirmAt: new Date(askedAt.getTime() + 20_000) } },
    { fareId: seldom, askedAt, next: 'normal' },
  ])
  await dispatch(db, RATE)
  await repair()
  expect(await setBacks()).toBe(0)

  await pass(db, -HOUR)
  await Promise.all([repair(), repair()])
  expect(await setBacks()).toBe(1)

  await pass(db, 61)
  // The first reservation makes the budget follow the new time.
  expect(await dispatch(db, RATE)).toEqual([])
  await pass(db, 6)
  expect(await dispatch(db, RATE)).toEqual([often])
  await pass(db, HOUR)
  expect(await dispatch(db, RATE)).toContain(seldom)
})
