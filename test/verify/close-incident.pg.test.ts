import { describe, expect } from 'vitest'
import { type Db, sql } from '../../src/db/database.ts'
import { inTransaction, selectOne } from '../../src/db/transaction.ts'
import { lockFares } from '../../src/verify/checks/belief-store.ts'
import { closeIncident, NoIncidentError } from '../../src/verify/incidents/change-incidents.ts'
import { countHeld, listIncidents } from '../../src/verify/incidents/incident-queries.ts'
import { silentLog } from '../support/silent-log.ts'
import { it } from '../support/test-database.ts'
import { available, gone, record, trackFare } from './fare-fixtures.ts'

/** Returns instants 10 ms apart: each request begins after the one before. */
function requestTimes(): () => Date {
  let ms = Date.now() - 60_000
  return () => {
    ms += 10
    return new Date(ms)
  }
}

async function openIncidents(db: Db): Promise<string[]> {
  return (await listIncidents(db, { open: true, limit: 10 })).map(({ kind }) => kind)
}

async function countHeldLosses(db: Db): Promise<number> {
  return (await countHeld(db)).mass_loss ?? 0
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

async function laneOf(db: Db, fareId: number): Promise<string | null> {
  const { lane } = await selectOne(
    sql<{ lane: string | null }>`
      select lane from fare_schedule where tracked_fare_id = ${fareId}
    `,
    db,
  )
  return lane
}

/** Sixty bookable fares. The losses of forty of them are held once the incident opens. */
async function openMassLoss(db: Db) {
  const next = requestTimes()
  const fares: number[] = []
  for (let i = 0; i < 60; i += 1) fares.push(await trackFare(db, { flightId: `F${i}` }))
  for (const fare of fares) await record(db, fare, next(), available())
  const [losing, rest] = [fares.slice(0, 40), fares.slice(40)]
  for (const fare of losing) await record(db, fare, next(), gone)
  for (const fare of losing) await record(db, fare, next(), gone)
  return { next, losing, rest }
}

describe('an operator who closes a mass loss', () => {
  it('the held losses are checked again and recorded, and no new incident opens', async ({
    db,
  }) => {
    const { next, losing, rest } = await openMassLoss(db)
    expect(await openIncidents(db)).toEqual(['mass_loss'])
    const before = await countLost(db)
    const held = await countHeldLosses(db)
    expect(before + held).toBe(40)

    const { askedAgain } = await closeIncident({ db, log: silentLog }, 'mass_loss')

    expect(askedAgain).toBe(held)
    expect(await countLost(db)).toBe(before)
    for (const fare of losing) await record(db, fare, next(), gone)
    expect(await countLost(db)).toBe(40)
    for (const fare of [...rest, ...rest]) await record(db, fare, next(), gone)
    expect(await countLost(db)).toBe(60)
    expect(await openIncidents(db)).toEqual([])
  })

  it('a fare that is available again is not lost', async ({ db }) => {
    const { next, losing } = await openMassLoss(db)
    const before = await countLost(db)

    await closeIncident({ db, log: silentLog }, 'mass_loss')
    for (const fare of losing) await record(db, fare, next(), available())

    expect(await countLost(db)).toBe(before)
    expect(await countHeldLosses(db)).toBe(0)
  })

  it('the next mass loss opens an incident again', async ({ db }) => {
    const { next, losing, rest } = await openMassLoss(db)
    await closeIncident({ db, log: silentLog }, 'mass_loss')
    for (const fare of losing) await record(db, fare, next(), gone)
    await sql`
      update availability_change set recorded_at = recorded_at - interval '6 minutes'
    `.execute(db)
    const [first = 0] = rest
    await record(db, first, next(), gone)
    await record(db, first, next(), gone)
    const others: number[] = []
    for (let i = 0; i < 40; i += 1) others.push(await trackFare(db, { flightId: `G${i}` }))
    for (const fare of others) await record(db, fare, next(), available())

    for (const fare of [...others, ...others]) await record(db, fare, next(), gone)

    expect(await openIncidents(db)).toEqual(['mass_loss'])
  })

  it('a fare that is no longer watched counts neither as held nor as lost', async ({ db }) => {
    const { next, losing, rest } = await openMassLoss(db)
    await sql`delete from fare_schedule where tracked_fare_id = any(${losing}::bigint[])`.execute(
      db,
    )

    const held = await countHeldLosses(db)
    const [first = 0] = rest
    await record(db, first, next(), gone)
    await record(db, first, next(), gone)

    expect(held).toBe(0)
    expect(await openIncidents(db)).toEqual([])
  })

  it('the operator does not wait for a transaction that has locked a fare: it may wait for the operator', async ({
    db,
  }) => {
    const { losing } = await openMassLoss(db)
    const held = await countHeldLosses(db)
    const last = losing.at(-1) ?? 0

    const askedAgain = await inTransaction(db, async (tx) => {
      await lockFares(tx, [last])
      return (await closeIncident({ db, log: silentLog }, 'mass_loss')).askedAgain
    })

    expect(askedAgain).toBe(held - 1)
    expect(await laneOf(db, last)).not.toBe(await laneOf(db, losing.at(-2) ?? 0))
  })

  it('the operator gets an error if no incident is open', async ({ db }) => {
    await expect(closeIncident({ db, log: silentLog }, 'mass_loss')).rejects.toThrow(
      NoIncidentError,
    )
  })
})
