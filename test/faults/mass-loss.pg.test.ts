import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { sql } from '../../src/db/database.ts'
import { trackFare } from '../verify/fare-fixtures.ts'
import { type Asker, askerOf, fareFacts, forgetFares, forgetHealth } from './fare-facts.ts'
import { type FaultGround, prepareFaultGround } from './fault-ground.ts'

let ground: FaultGround
beforeAll(async () => {
  ground = await prepareFaultGround()
})
afterAll(() => ground.close())

const ALL_GONE = { name: 'all-unavailable', endpoint: 'verify' } as const

/** So many fares that are known to be bookable since an hour ago. */
async function believe(fares: number): Promise<Asker> {
  const { db, open } = ground
  await forgetFares(db)
  for (const flightId of open.slice(0, fares)) await trackFare(db, { flightId })
  const { client } = ground.client({ limits: { maxConnections: fares } })
  const asker = askerOf(db, client)
  expect(await asker.fullRound()).toBe(fares)
  expect(await bookable()).toBe(fares)
  await sql`update fare_state set last_good_check_at = last_good_check_at - interval '1 hour'`.execute(
    db,
  )
  await forgetHealth(db)
  return asker
}

/** Lets the fares from one place to another, in the order in which they were tracked, be due; all others not. */
async function makeDue(from: number, to: number): Promise<void> {
  await sql`
    update fare_schedule q
       set not_before = case when due then clock_timestamp() else 'infinity' end,
           lane_due_at = case when lane is null then null when due then clock_timestamp() else 'infinity' end
      from (select tracked_fare_id, row_number() over (order by tracked_fare_id) between ${from + 1} and ${to} as due
              from fare_schedule) d
     where d.tracked_fare_id = q.tracked_fare_id
  `.execute(ground.db)
}

async function incidents(): Promise<unknown[]> {
  const { rows } = await sql`
    select kind, closed_at is not null as closed from incident order by id
  `.execute(ground.db)
  return rows
}

async function lossesRecorded(): Promise<number> {
  const facts = await fareFacts(ground.db)
  return facts.flatMap(({ kinds }) => kinds).filter((kind) => kind !== 'became_available').length
}

async function bookable(): Promise<number> {
  return (await fareFacts(ground.db)).filter(({ pair }) => pair === 'bookable').length
}

describe('mass loss: an upstream that says of every fare that it is gone', () => {
  it('is not believed of one fare, opens one incident, and leaves nothing behind', async () => {
    const asker = await believe(100)
    ground.spoil(ALL_GONE)

    for (let round = 0; round < 4; round += 1) await asker.fullRound()

    expect(await lossesRecorded()).toBe(0)
    expect(await bookable()).toBe(100)
    expect(await incidents()).toEqual([{ kind: 'mass_loss', closed: false }])

    ground.honest()
    // What is asked first is judged by what was known before it.
    for (let round = 0; round < 2; round += 1) await asker.fullRound()
    expect(await incidents()).toEqual([{ kind: 'mass_loss', closed: true }])
    expect(await lossesRecorded()).toBe(0)
    expect(await bookable()).toBe(100)
  })

  it('is not believed either where only a few fares can be asked in the time', async () => {
    const asker = await believe(400)
    ground.spoil(ALL_GONE)

    // A tenth of the fares has its first look, its second, and its third.
    for (let look = 0; look < 3; look += 1) {
      for (let from = 0; from < 40; from += 5) {
        await makeDue(from, from + 5)
        expect(await asker.round()).toBe(5)
      }
    }

    expect(await lossesRecorded()).toBe(0)
    expect(await bookable()).toBe(400)
    expect(await incidents()).toEqual([{ kind: 'mass_loss', closed: false }])
  })

  it('is still not believed when the upstream was silent in between', async () => {
    const asker = await believe(100)
    ground.spoil(ALL_GONE)
    for (let round = 0; round < 2; round += 1) await asker.fullRound()
    await sql`
      update fare_state set last_good_check_at = last_good_check_at - interval '10 minutes'
    `.execute(ground.db)

    for (let from = 0; from < 15; from += 5) {
      await makeDue(from, from + 5)
      await asker.round()
    }

    expect(await lossesRecorded()).toBe(0)
    expect(await incidents()).toEqual([{ kind: 'mass_loss', closed: false }])
  })

  it('does not keep a few fares from selling out', async () => {
    const asker = await believe(100)
    await makeDue(19, 100)
    await asker.round()
    ground.spoil(ALL_GONE)
    for (let look = 0; look < 2; look += 1) {
      await makeDue(0, 19)
      await asker.round()
    }

    expect(await lossesRecorded()).toBe(19)
    expect(await incidents()).toEqual([])
  })
})
