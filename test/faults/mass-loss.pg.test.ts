import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { sql } from '../../src/platform/db/database.ts'
import { passSeconds, trackFare } from '../fares/fare-fixtures.ts'
import { deleteFares, fareFacts, resetHealth, type Verifier, verifierOf } from './fare-facts.ts'
import { type FaultFixture, prepareFaultFixture } from './fault-fixture.ts'

let fixture: FaultFixture
beforeAll(async () => {
  fixture = await prepareFaultFixture()
})
afterAll(() => fixture.close())

const ALL_UNAVAILABLE = { name: 'all-unavailable', endpoint: 'verify' } as const

/** Tracks this number of fares, which were last seen bookable an hour ago. */
async function establishBeliefs(fares: number): Promise<Verifier> {
  const { db, open } = fixture
  await deleteFares(db)
  for (const flightId of open.slice(0, fares)) await trackFare(db, { flightId })
  const { client } = fixture.client({ limits: { maxConnections: fares } })
  const verifier = verifierOf(db, client)
  expect(await verifier.fullRound()).toBe(fares)
  expect(await bookable()).toBe(fares)
  await sql`update fare_state set last_good_check_at = last_good_check_at - interval '1 hour'`.execute(
    db,
  )
  await resetHealth(db)
  return verifier
}

/** Makes the fares from one position to another due, in the order in which they were tracked, and no others. */
async function makeDue(from: number, to: number): Promise<void> {
  await sql`
    update fare_schedule q
       set not_before = case when due then clock_timestamp() else 'infinity' end,
           lane_due_at = case when lane is null then null when due then clock_timestamp() else 'infinity' end
      from (select tracked_fare_id, row_number() over (order by tracked_fare_id) between ${from + 1} and ${to} as due
              from fare_schedule) d
     where d.tracked_fare_id = q.tracked_fare_id
  `.execute(fixture.db)
}

async function incidents(): Promise<unknown[]> {
  const { rows } = await sql`
    select kind, closed_at is not null as closed from incident order by id
  `.execute(fixture.db)
  return rows
}

async function lossesRecorded(): Promise<number> {
  const facts = await fareFacts(fixture.db)
  return facts.flatMap(({ kinds }) => kinds).filter((kind) => kind !== 'became_available').length
}

async function bookable(): Promise<number> {
  return (await fareFacts(fixture.db)).filter(({ pair }) => pair === 'bookable').length
}

describe('mass loss: an upstream that reports every fare as unavailable', () => {
  it('is believed for no fare, opens one incident, and has no lasting effect', async () => {
    const verifier = await establishBeliefs(100)
    fixture.setFaults(ALL_UNAVAILABLE)

    for (let round = 0; round < 4; round += 1) await verifier.fullRound()

    expect(await lossesRecorded()).toBe(0)
    expect(await bookable()).toBe(100)
    expect(await incidents()).toEqual([{ kind: 'mass_loss', closed: false }])

    fixture.clearFaults()
    for (let round = 0; round < 2; round += 1) await verifier.fullRound()
    expect(await incidents()).toEqual([{ kind: 'mass_loss', closed: true }])
    expect(await lossesRecorded()).toBe(0)
    expect(await bookable()).toBe(100)
  })

  it('is not believed either if only a few fares can be checked in the time', async () => {
    const verifier = await establishBeliefs(400)
    fixture.setFaults(ALL_UNAVAILABLE)

    // A tenth of the fares is checked three times.
    for (let check = 0; check < 3; check += 1) {
      await passSeconds(fixture.db, 20)
      for (let from = 0; from < 40; from += 5) {
        await makeDue(from, from + 5)
        expect(await verifier.round()).toBe(5)
      }
    }

    expect(await lossesRecorded()).toBe(0)
    expect(await bookable()).toBe(400)
    expect(await incidents()).toEqual([{ kind: 'mass_loss', closed: false }])
  })

  it('is recorded as said once it has lasted ten minutes, and corrected soon after it has ended', async () => {
    const verifier = await establishBeliefs(100)
    fixture.setFaults(ALL_UNAVAILABLE)
    for (let round = 0; round < 2; round += 1) await verifier.fullRound()
    await passSeconds(fixture.db, 500)
    await verifier.fullRound()
    expect(await lossesRecorded()).toBe(0)
    expect(await incidents()).toEqual([{ kind: 'mass_loss', closed: false }])

    await passSeconds(fixture.db, 100)
    await verifier.fullRound()
    expect(await lossesRecorded()).toBe(100)
    expect(await bookable()).toBe(0)

    fixture.clearFaults()
    // It undoes a record of the last ten minutes, but what was believed before waits for no mass.
    for (let round = 0; round < 3; round += 1) {
      await passSeconds(fixture.db, 10)
      await verifier.fullRound()
    }
    expect(await bookable()).toBe(100)
    expect(await incidents()).toEqual([{ kind: 'mass_loss', closed: true }])
  })

  it('does not prevent a few fares from selling out', async () => {
    const verifier = await establishBeliefs(100)
    await makeDue(19, 100)
    await verifier.round()
    fixture.setFaults(ALL_UNAVAILABLE)
    for (let check = 0; check < 2; check += 1) {
      await passSeconds(fixture.db, 20)
      await makeDue(0, 19)
      await verifier.round()
    }

    expect(await lossesRecorded()).toBe(19)
    expect(await incidents()).toEqual([])
  })
})
