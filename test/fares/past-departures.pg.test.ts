import { describe, expect } from 'vitest'
import { type Db, sql } from '../../src/platform/db/database.ts'
import { selectOne } from '../../src/platform/db/transaction.ts'
import type { LegObservation } from '../../src/upstream/observation.ts'
import { countPastDepartures } from '../../src/views/fare-operations.ts'
import { verifierOf } from '../faults/fare-facts.ts'
import { it } from '../support/test-database.ts'
import {
  available,
  endFares,
  observation,
  openKinds,
  silent,
  trackFares,
  watchFares,
  watchFeed,
} from './fare-fixtures.ts'

const FARES = 30

/** The flight of the fixtures at a departure of another year. */
function departingIn(year: string): LegObservation {
  return JSON.parse(JSON.stringify(available()).replaceAll('2027-', `${year}-`)) as LegObservation
}

/** Watched fares, and a verifier of an upstream that gives one answer for all of them. */
async function startFixture(db: Db, count = FARES) {
  let answer: LegObservation = available()
  const fares = await trackFares(db, count)
  const reseller = await watchFares(db, 'ana', fares)
  await sql`update tracked_fare set watchers = 1`.execute(db)
  const verifier = verifierOf(db, { verifyFares: async () => observation(answer) })
  const [fare = 0] = fares
  return {
    fare,
    reseller,
    verifier,
    checkAll: async (leg: LegObservation) => {
      answer = leg
      await verifier.fullRound()
      await endFares(db)
    },
  }
}

async function pass(db: Db, time: string): Promise<void> {
  await sql`
    update fare_state
       set expired_at = expired_at - ${time}::interval, past_since = past_since - ${time}::interval,
           departs_at = departs_at - ${time}::interval, held_until = held_until - ${time}::interval
  `.execute(db)
  await sql`update watch set ended_at = ended_at - ${time}::interval, began_at = began_at - ${time}::interval`.execute(
    db,
  )
}

async function recorded(db: Db): Promise<unknown> {
  const { rows } = await sql`
    select kind, reason, count(*) from availability_change group by 1, 2 order by 1
  `.execute(db)
  return rows
}

async function facts(db: Db, fare: number) {
  return selectOne(
    sql<{ ended: boolean; reason: string | null; scheduled: boolean }>`
      select s.expired_at is not null as ended, s.last_reason as reason,
             q.tracked_fare_id is not null as scheduled
        from fare_state s left join fare_schedule q using (tracked_fare_id)
       where s.tracked_fare_id = ${fare}
    `,
    db,
  )
}

describe('answers with a departure in the past', () => {
  // Fault: Every answer has a departure in 2020. Nothing is recorded, no watch ends; `doctor` counts the fares.
  it('end no fare that was seen otherwise, and leave nothing behind', async ({ db }) => {
    const { checkAll } = await startFixture(db)
    await checkAll(available())

    for (let round = 0; round < 3; round += 1) await checkAll(departingIn('2020'))

    expect(await countPastDepartures(db)).toBe(FARES)
    await checkAll(available())
    expect(await recorded(db)).toEqual([{ kind: 'first_seen', reason: null, count: FARES }])
    expect(await countPastDepartures(db)).toBe(0)
  })

  // Fault: A new watch of a flight that is gone. `expired` with the reason `departed` after three days; until then it waits as
  // any silent fare.
  it('end a fare that was never seen after three days', async ({ db }) => {
    const { fare, reseller, checkAll } = await startFixture(db, 1)
    await checkAll(departingIn('2020'))
    expect(await facts(db, fare)).toEqual({
      ended: false,
      reason: 'contract_violation',
      scheduled: true,
    })

    await pass(db, '71 hours')
    await checkAll(departingIn('2020'))
    expect(await facts(db, fare)).toMatchObject({ ended: false })
    await pass(db, '1 hour')
    await checkAll(silent)
    expect(await facts(db, fare)).toMatchObject({ ended: false })
    await checkAll(departingIn('2020'))
    expect(await facts(db, fare)).toMatchObject({ ended: true })

    expect(await recorded(db)).toEqual([{ kind: 'expired', reason: 'departed', count: 1 }])
    expect(await watchFeed(db, reseller)).toEqual([[1, 'expired']])
  })
})

describe('a mass of departures', () => {
  // Fault: Every fare gets wrong dates at once. An incident holds them, no watch ends, and the next true answers end it.
  // Fault: A third of the fares departs at once.
  it('is held for ten minutes and checked; a fare with another departure goes on', async ({
    db,
  }) => {
    const { fare, verifier, checkAll } = await startFixture(db)
    await checkAll(available())
    await sql`update fare_state set departs_at = clock_timestamp()`.execute(db)

    expect(await endFares(db)).toBe(FARES)

    expect(await openKinds(db)).toEqual(['mass_expiry'])
    expect(await recorded(db)).toEqual([{ kind: 'first_seen', reason: null, count: FARES }])
    expect(await verifier.round()).toBe(FARES)
    // The answers showed a departure next year, so no end is held any more. Those of the other fares show none.
    const { rows } = await sql`select count(held_until) as held from fare_state`.execute(db)
    expect(rows).toEqual([{ held: 0 }])
    await sql`
      update fare_state set (departs_at, held_until) = (select t, t from (select clock_timestamp() + interval '10 minutes' as t) as _)
       where tracked_fare_id <> ${fare}
    `.execute(db)
    await pass(db, '10 minutes')
    expect(await endFares(db)).toBe(FARES - 1)
    expect(await facts(db, fare)).toMatchObject({ ended: false, scheduled: true })
  })
})
