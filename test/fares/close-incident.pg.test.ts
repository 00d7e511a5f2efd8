import { describe, expect } from 'vitest'
import { lockFares } from '../../src/fares/check/belief-store.ts'
import { closeIncident, NoIncidentError } from '../../src/fares/hold/change-incidents.ts'
import { type Db, sql } from '../../src/platform/db/database.ts'
import { inTransaction, selectOne } from '../../src/platform/db/transaction.ts'
import { listIncidents, readHeld } from '../../src/views/incident-queries.ts'
import { silentLog } from '../support/silent-log.ts'
import { it } from '../support/test-database.ts'
import {
  available,
  closedAt,
  gone,
  minute,
  recordAll,
  trackFare,
  watchFare,
} from './fare-fixtures.ts'

async function openIncidents(db: Db): Promise<string[]> {
  return (await listIncidents(db, { open: true, limit: 10 })).map(({ kind }) => kind)
}

async function countHeldLosses(db: Db): Promise<number> {
  const held = await readHeld(db)
  return held.find(({ kind }) => kind === 'became_unavailable')?.fares ?? 0
}

async function countLost(db: Db): Promise<number> {
  const { count } = await selectOne(
    sql<{ count: number }>`
      select count(*) as count from availability_change where kind = 'became_unavailable'
    `,
    db,
  )
  return count
}

async function laneOf(db: Db, fareId: number): Promise<Date | null> {
  const { due } = await selectOne(
    sql<{ due: Date | null }>`
      select lane_due_at as due from fare_schedule where tracked_fare_id = ${fareId}
    `,
    db,
  )
  return due
}

/** Sixty bookable fares. The losses of forty of them are held. */
async function openMassLoss(db: Db) {
  const fares: number[] = []
  for (let i = 0; i < 60; i += 1) {
    const fare = await trackFare(db, { flightId: `F${i}` })
    await watchFare(db, 'ana', fare)
    fares.push(fare)
  }
  await recordAll(db, fares, minute(0), available())
  const [losing, rest] = [fares.slice(0, 40), fares.slice(40)]
  for (const n of [1, 2]) await recordAll(db, losing, minute(n), gone)
  return { losing, rest }
}

describe('an operator who closes a mass loss', () => {
  it('has the held losses checked again and recorded, and those of later are held again', async ({
    db,
  }) => {
    const { losing, rest } = await openMassLoss(db)
    expect(await openIncidents(db)).toEqual(['mass_loss'])
    expect(await countHeldLosses(db)).toBe(40)

    const { askedAgain } = await closeIncident({ db, log: silentLog }, 'mass_loss')

    await closedAt(db, minute(2))
    expect(askedAgain).toBe(40)
    expect(await countLost(db)).toBe(0)
    await recordAll(db, losing, minute(3), gone)
    expect(await countLost(db)).toBe(40)
    expect(await openIncidents(db)).toEqual([])
    for (const n of [4, 5]) await recordAll(db, rest, minute(n), gone)
    expect(await countLost(db)).toBe(40)
    expect(await countHeldLosses(db)).toBe(20)
    expect(await openIncidents(db)).toEqual(['mass_loss'])
  })

  it('does not lose a fare that is available again', async ({ db }) => {
    const { losing } = await openMassLoss(db)

    await closeIncident({ db, log: silentLog }, 'mass_loss')
    await recordAll(db, losing, minute(3), available())

    expect(await countLost(db)).toBe(0)
    expect(await countHeldLosses(db)).toBe(0)
    // Nothing waits any more, so the next loss is a new one.
    await recordAll(db, losing, minute(4), gone)
    expect(await countLost(db)).toBe(0)
  })

  it('reads how many watches wait until when, without fares that are no longer watched', async ({
    db,
  }) => {
    const { losing } = await openMassLoss(db)
    await watchFare(db, 'ben', losing[0] ?? 0)
    const held = { kind: 'became_unavailable', since: minute(1), latestSince: minute(1) }
    expect(await readHeld(db)).toEqual([{ ...held, fares: 40, watches: 41 }])

    await sql`
      update watch set ended_at = clock_timestamp() where tracked_fare_id = any(${losing.slice(1)}::bigint[])
    `.execute(db)

    expect(await readHeld(db)).toEqual([{ ...held, fares: 1, watches: 2 }])
  })

  it('does not wait for a transaction that has locked a fare: it may wait for the operator', async ({
    db,
  }) => {
    const { losing } = await openMassLoss(db)
    const last = losing.at(-1) ?? 0

    const askedAgain = await inTransaction(db, async (tx) => {
      await lockFares(tx, [last])
      return (await closeIncident({ db, log: silentLog }, 'mass_loss')).askedAgain
    })

    expect(askedAgain).toBe(39)
    // Its hold ends ten minutes after it began.
    expect(await laneOf(db, last)).toEqual(minute(11))
  })

  it('has what still waits recorded after the mass too', async ({ db }) => {
    const { losing } = await openMassLoss(db)
    const last = losing.slice(-5)
    await recordAll(db, losing.slice(0, -5), minute(3), available())
    await recordAll(db, last, minute(4), gone)
    expect(await openIncidents(db)).toEqual([])
    expect(await countHeldLosses(db)).toBe(5)

    const { askedAgain } = await closeIncident({ db, log: silentLog }, 'mass_loss')
    await closedAt(db, minute(4))
    await recordAll(db, last, minute(5), gone)

    expect(askedAgain).toBe(5)
    expect(await countLost(db)).toBe(5)
  })

  it('gets an error if no incident is open and nothing waits', async ({ db }) => {
    await expect(closeIncident({ db, log: silentLog }, 'mass_loss')).rejects.toThrow(
      NoIncidentError,
    )
  })
})
