import { describe, expect } from 'vitest'
import { type VerifyJobDeps, verifyFaresJob } from '../../src/fares/check.ts'
import { systemClock } from '../../src/platform/base/clock.ts'
import { FAST_LANES } from '../../src/platform/base/kinds.ts'
import { zoneOffsetMs } from '../../src/platform/base/local-time.ts'
import { type Db, sql } from '../../src/platform/db/database.ts'
import { createMetrics } from '../../src/platform/metrics/metrics.ts'
import { dispatchChecks } from '../../src/schedule/claim.ts'
import type { LegObservation } from '../../src/upstream/observation.ts'
import type { Question } from '../../src/upstream/question.ts'
import { readFareRecords } from '../feeds/fare-records.ts'
import { silentLog } from '../support/silent-log.ts'
import { it } from '../support/test-database.ts'
import {
  available,
  endFares,
  gone,
  observation,
  RULES,
  record,
  trackFare,
  watchFare,
} from './fare-fixtures.ts'

const MINUTE_MS = 60_000

/** A flight from PMI that departs this many minutes from now, at a full minute. */
function departingIn(minutes: number, from = 'PMI'): LegObservation {
  const instant = Date.now() + minutes * MINUTE_MS
  const local = new Date(instant + zoneOffsetMs('Europe/Madrid', instant)).toISOString()
  const departsAt = local.slice(0, 16).replace('T', ' ')
  const answer = available()
  if (answer.kind !== 'available') throw new Error('it is available')
  const flight = { ...answer.flight.flight, from, departsAt }
  return { kind: 'available', flight: { ...answer.flight, departsAt, flight } }
}

function ago(seconds: number): Date {
  return new Date(Date.now() - seconds * 1000)
}

async function depart(db: Db, fareId: number): Promise<void> {
  await sql`
    update fare_state set departs_at = clock_timestamp() where tracked_fare_id = ${fareId}
  `.execute(db)
}

async function reasons(db: Db): Promise<unknown[]> {
  const { rows } = await sql`
    select fare_id as fare, kind, reason from farewatch.availability_changes
     where kind in ('became_unavailable', 'expired') order by seq
  `.execute(db)
  return rows
}

const rules = { ...RULES, requestsPerSecond: 1_000, lossConfirmations: 1 }

/** Claims all due fares, and runs the job of the claim with this upstream. */
async function check(
  db: Db,
  answer: (question: Question) => Promise<LegObservation>,
): Promise<string[]> {
  const asked: string[] = []
  const verifyFares = async (question: Question) => {
    asked.push(question.flightId)
    return observation(await answer(question))
  }
  const deps: VerifyJobDeps = {
    db,
    clock: systemClock,
    rules,
    metrics: createMetrics(),
    log: silentLog,
    upstream: { verifyFares },
  }
  const queue = { enqueue: async () => undefined }
  const claimed = await dispatchChecks({ db, queue, ...rules })
  for (const [claimId, fares] of Map.groupBy(claimed, (check) => check.claimId)) {
    const claim = { claimId, fareIds: fares.map(({ fareId }) => fareId) }
    await verifyFaresJob(deps, claim, AbortSignal.timeout(10_000))
  }
  return asked
}

describe('the departure of a fare', () => {
  // Fault: A flight departs: the upstream answers `available: false`.
  it('a fare that departs during a batch is not lost by the answers of that batch', async ({
    db,
  }) => {
    const departing = await trackFare(db, { flightId: 'F1' })
    const other = await trackFare(db, { flightId: 'F2' })
    for (const fare of [departing, other]) await record(db, fare, ago(3_600), departingIn(300))

    const asked = await check(db, async ({ flightId }) => {
      if (flightId === 'F1') await depart(db, departing)
      return gone
    })
    await endFares(db)

    expect(new Set(asked)).toEqual(new Set(['F1', 'F2']))
    expect(await reasons(db)).toEqual([
      { fare: other, kind: 'became_unavailable', reason: 'sold_out' },
      { fare: departing, kind: 'expired', reason: 'departed' },
    ])
  })

  it('a fare that has departed is asked no more, in no lane and by no claim', async ({ db }) => {
    const lanes = [null, ...FAST_LANES]
    const fares: number[] = []
    for (const [i, lane] of lanes.entries()) {
      const fare = await trackFare(db, { flightId: `F${i}` })
      await record(db, fare, ago(3_600), departingIn(300))
      await sql`
        update fare_schedule set lane = ${lane}, lane_due_at = case when ${lane}::text is not null then now() end
         where tracked_fare_id = ${fare}
      `.execute(db)
      await depart(db, fare)
      fares.push(fare)
    }
    const claimed = await trackFare(db, { flightId: 'claimed' })
    await record(db, claimed, ago(3_600), departingIn(300))
    const queue = { enqueue: async () => undefined }

    const [claim] = await dispatchChecks({ db, queue, ...rules })
    expect(claim?.fareId).toBe(claimed)
    await depart(db, claimed)
    await sql`update fare_schedule set slot_at = clock_timestamp() + interval '10 ms' where claim_id is not null`.execute(
      db,
    )

    expect(await check(db, async () => gone)).toEqual([])
    expect(await endFares(db)).toBe(fares.length + 1)
    const { rows } = await sql`select from fare_schedule`.execute(db)
    expect(rows).toEqual([])
  })

  // Fault: Sales close before a departure.
  it('a loss in the minute before the departure is a closed sale, and the end after it is a departure', async ({
    db,
  }) => {
    const fare = await trackFare(db)
    const reseller = await watchFare(db, 'ana', fare)
    const unknown = await trackFare(db, { flightId: 'F2' })
    await record(db, fare, ago(60), departingIn(2))
    await record(db, unknown, ago(60), departingIn(2, 'Neverland'))

    for (const seconds of [40, 20]) {
      await record(db, fare, ago(seconds), gone)
      await record(db, unknown, ago(seconds), gone)
    }
    expect(await endFares(db)).toBe(0)
    await depart(db, fare)
    expect(await record(db, fare, ago(0), available())).toEqual([])
    expect(await endFares(db)).toBe(1)
    expect(await endFares(db)).toBe(0)

    expect(await reasons(db)).toEqual([
      { fare, kind: 'became_unavailable', reason: 'sales_closed' },
      { fare: unknown, kind: 'became_unavailable', reason: 'unknown' },
      { fare, kind: 'expired', reason: 'departed' },
    ])
    const records = await readFareRecords({ db }, reseller, { after: 0, limit: 10 })
    expect(records.map(({ kind, reason }) => [kind, reason])).toEqual([
      ['watch_started', null],
      ['became_unavailable', 'sales_closed'],
      ['expired', 'departed'],
    ])
    const { rows } = await sql`
      select reason, censored from farewatch.fare_survival order by fare_id
    `.execute(db)
    expect(rows).toEqual([
      { reason: 'sales_closed', censored: false },
      { reason: 'unknown', censored: false },
    ])
  })
})
