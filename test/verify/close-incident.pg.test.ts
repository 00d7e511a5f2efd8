import { describe, expect } from 'vitest'
import { type Db, sql } from '../../src/db/database.ts'
import { inTransaction, selectOne } from '../../src/db/transaction.ts'
import { lockFares } from '../../src/verify/checks/lock-fares.ts'
import { endIncident, NoIncidentError } from '../../src/verify/incidents/close-incident.ts'
import { countHeldLosses } from '../../src/verify/incidents/held-losses.ts'
import { listIncidents } from '../../src/verify/incidents/incident-queries.ts'
import { silentLog } from '../support/silent-log.ts'
import { it } from '../support/test-database.ts'
import { available, gone, record, trackFare } from './fare-fixtures.ts'

/** Requests begin one after another, as they do. */
function aClock(): () => Date {
  let ms = Date.now() - 60_000
  return () => {
    ms += 10
    return new Date(ms)
  }
}

async function openIncidents(db: Db): Promise<string[]> {
  return (await listIncidents(db, { open: true, limit: 10 })).map(({ kind }) => kind)
}

async function lost(db: Db): Promise<number> {
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

/** Sixty bookable fares; of forty of them the loss is held. */
async function aMassLoss(db: Db) {
  const next = aClock()
  const fares: number[] = []
  for (let i = 0; i < 60; i += 1) fares.push(await trackFare(db, { flightId: `F${i}` }))
  for (const fare of fares) await record(db, fare, next(), available())
  const [losing, rest] = [fares.slice(0, 40), fares.slice(40)]
  for (const fare of losing) await record(db, fare, next(), gone)
  for (const fare of losing) await record(db, fare, next(), gone)
  return { next, losing, rest }
}

describe('closing a mass loss', () => {
  it('lets what was held be asked again, and recorded, without a new incident', async ({ db }) => {
    const { next, losing, rest } = await aMassLoss(db)
    expect(await openIncidents(db)).toEqual(['mass_loss'])
    const before = await lost(db)
    const held = await countHeldLosses(db)
    expect(before + held).toBe(40)

    const { askedAgain } = await endIncident({ db, log: silentLog }, 'mass_loss')

    expect(askedAgain).toBe(held)
    expect(await lost(db)).toBe(before)
    for (const fare of losing) await record(db, fare, next(), gone)
    expect(await lost(db)).toBe(40)
    for (const fare of [...rest, ...rest]) await record(db, fare, next(), gone)
    expect(await lost(db)).toBe(60)
    expect(await openIncidents(db)).toEqual([])
  })

  it('believes no fare gone that is there again', async ({ db }) => {
    const { next, losing } = await aMassLoss(db)
    const before = await lost(db)

    await endIncident({ db, log: silentLog }, 'mass_loss')
    for (const fare of losing) await record(db, fare, next(), available())

    expect(await lost(db)).toBe(before)
    expect(await countHeldLosses(db)).toBe(0)
  })

  it('holds for this loss alone: the next one opens an incident again', async ({ db }) => {
    const { next, losing, rest } = await aMassLoss(db)
    await endIncident({ db, log: silentLog }, 'mass_loss')
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

  it('counts no fare that nobody watches any more: it would wait for ever', async ({ db }) => {
    const { next, losing, rest } = await aMassLoss(db)
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

  it('waits for nobody who holds a turn: they may be waiting for this one', async ({ db }) => {
    const { losing } = await aMassLoss(db)
    const held = await countHeldLosses(db)
    const last = losing.at(-1) ?? 0

    const askedAgain = await inTransaction(db, async (tx) => {
      await lockFares(tx, [last])
      return (await endIncident({ db, log: silentLog }, 'mass_loss')).askedAgain
    })

    expect(askedAgain).toBe(held - 1)
    expect(await laneOf(db, last)).not.toBe(await laneOf(db, losing.at(-2) ?? 0))
  })

  it('is refused where none is open', async ({ db }) => {
    await expect(endIncident({ db, log: silentLog }, 'mass_loss')).rejects.toThrow(NoIncidentError)
  })
})
