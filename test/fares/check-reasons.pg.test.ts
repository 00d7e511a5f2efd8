import { describe, expect } from 'vitest'
import { type VerifyFaresPayload, verifyFaresJob } from '../../src/fares/check.ts'
import { verifyOnDemand } from '../../src/fares/verify.ts'
import { systemClock } from '../../src/platform/base/clock.ts'
import { type Db, sql } from '../../src/platform/db/database.ts'
import { createMetrics } from '../../src/platform/metrics/metrics.ts'
import { dispatchChecks } from '../../src/schedule/claim.ts'
import type { LegObservation } from '../../src/upstream/observation.ts'
import { questionWith } from '../../src/upstream/question.ts'
import { findFare } from '../../src/views/fare-operations.ts'
import { silentLog } from '../support/silent-log.ts'
import { it } from '../support/test-database.ts'
import {
  available,
  gone,
  observation,
  passSeconds,
  RULES,
  silent,
  trackFare,
} from './fare-fixtures.ts'
import { makeDue } from './worker-fixtures.ts'

const signal = new AbortController().signal

function depsWith(db: Db, answer: LegObservation) {
  const upstream = { verifyFares: async () => observation(answer) }
  const rules = { ...RULES, requestsPerSecond: 200 }
  return { db, upstream, clock: systemClock, rules, metrics: createMetrics(), log: silentLog }
}

/** Claims and checks the fares that are due, with this answer. Returns why they were checked, by the database. */
async function checkDue(db: Db, answer: LegObservation, fareId: number): Promise<unknown> {
  const payloads: VerifyFaresPayload[] = []
  const queue = {
    enqueue: async (_: string, job: { readonly payload: object }) => {
      payloads.push(job.payload as VerifyFaresPayload)
    },
  }
  await dispatchChecks({ db, queue, requestsPerSecond: 200, minRecheckSeconds: 60 })
  for (const payload of payloads) await verifyFaresJob(depsWith(db, answer), payload, signal)
  return whyChecked(db, fareId)
}

async function whyChecked(db: Db, fareId: number): Promise<unknown> {
  return (await findFare(db, fareId))?.lastCheckWhy
}

describe('the reason of the last check', () => {
  it('is kept with its result, whether the fare had its turn or was in a lane', async ({ db }) => {
    const fareId = await trackFare(db)
    const set = (columns: string) => sql`update fare_schedule set ${sql.raw(columns)}`.execute(db)
    expect(await whyChecked(db, fareId)).toBeNull()

    const owner = '(select reseller_id from turn)'
    await set(`lane = 'first_check', lane_due_at = clock_timestamp(), lane_reseller = ${owner}`)
    expect(await checkDue(db, available(), fareId)).toBe('first_check')
    await makeDue(db)
    expect(await checkDue(db, gone, fareId)).toBe('scheduled')
    await makeDue(db)
    await passSeconds(db, 20)
    expect(await checkDue(db, gone, fareId)).toBe('confirmation')
    await makeDue(db)
    expect(await checkDue(db, silent, fareId)).toBe('scheduled')
    await makeDue(db)
    expect(await checkDue(db, available(), fareId)).toBe('retry')
    await makeDue(db)
    // It was lost a moment ago: three answers confirm that it is back, each in the lane of confirmations.
    for (const _ of [2, 3]) {
      await passSeconds(db, 30)
      expect(await checkDue(db, available(), fareId)).toBe('confirmation')
      await makeDue(db)
    }
    await set('route_moved = true')
    expect(await checkDue(db, available(), fareId)).toBe('route_moved')
  })

  it('is on_demand after a question on demand', async ({ db }) => {
    const fareId = await trackFare(db, { flightId: 'F1' })
    const question = questionWith({ flightId: 'F1' })

    await verifyOnDemand(depsWith(db, available()), question, signal)

    expect(await whyChecked(db, fareId)).toBe('on_demand')
  })
})
