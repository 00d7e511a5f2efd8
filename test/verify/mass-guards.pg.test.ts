import { describe, expect } from 'vitest'
import type { HeldKind, MassKind } from '../../src/base/kinds.ts'
import { type Db, sql } from '../../src/db/database.ts'
import { selectOne } from '../../src/db/transaction.ts'
import type { LegObservation } from '../../src/upstream/observation.ts'
import { closeIncident } from '../../src/verify/incidents/change-incidents.ts'
import { countHeld, listIncidents } from '../../src/verify/incidents/incident-queries.ts'
import { revertIncident } from '../../src/verify/incidents/revert-incident.ts'
import { silentLog } from '../support/silent-log.ts'
import { it } from '../support/test-database.ts'
import { available, kinds, minute, record, recordAll, trackFare } from './fare-fixtures.ts'

const FARES = 30

interface Mass {
  readonly kind: MassKind
  readonly change: HeldKind
  readonly wrong: LegObservation
}

const MASSES: readonly Mass[] = [
  {
    kind: 'mass_identity_change',
    change: 'identity_changed',
    wrong: available('100.00', { identity: 'VY|1|PMI-MAD|2028-01-10' }),
  },
  {
    kind: 'mass_itinerary_change',
    change: 'itinerary_changed',
    wrong: available('100.00', { itinerary: '09:00|3900' }),
  },
  { kind: 'mass_price_change', change: 'price_changed', wrong: available('0.00') },
]

async function trackFares(db: Db): Promise<number[]> {
  const fares: number[] = []
  for (let i = 0; i < FARES; i += 1) fares.push(await trackFare(db, { flightId: `F${i}` }))
  return fares
}

async function changed(db: Db, kind: string): Promise<number> {
  const { count } = await selectOne(
    sql<{ count: number }>`select count(*) as count from availability_change where kind = ${kind}`,
    db,
  )
  return count
}

async function openKinds(db: Db): Promise<string[]> {
  return (await listIncidents(db, { open: true, limit: 10 })).map(({ kind }) => kind)
}

describe.each(MASSES)('$kind', ({ kind, change, wrong }) => {
  it('holds the changes of most fares, and ends without them when the answers are right again', async ({
    db,
  }) => {
    const fares = await trackFares(db)
    await recordAll(db, fares, minute(0), available())

    for (const n of [1, 2, 3]) {
      for (const fare of fares) await record(db, fare, minute(n), wrong)
    }
    const recorded = await changed(db, change)
    expect(recorded).toBeLessThan(20)
    expect(await openKinds(db)).toEqual([kind])
    expect((await countHeld(db))[kind]).toBe(FARES - recorded)

    const rest = fares.slice(recorded)
    for (const n of [4, 5]) await recordAll(db, rest, minute(n), available())
    expect(await openKinds(db)).toEqual([])
    expect(await changed(db, change)).toBe(recorded)
  })

  it('gains and losses are recorded as before while changes of this kind are held', async ({
    db,
  }) => {
    const fares = await trackFares(db)
    await recordAll(db, fares, minute(0), available())
    for (const n of [1, 2]) await recordAll(db, fares, minute(n), wrong)
    const last = fares.at(-1) ?? 0

    for (const n of [3, 4]) await record(db, last, minute(n), { kind: 'unavailable' })

    expect(await openKinds(db)).toEqual([kind])
    expect(await changed(db, 'became_unavailable')).toBe(1)
  })

  it('an operator who closes it lets each fare change with one more answer', async ({ db }) => {
    const fares = await trackFares(db)
    await recordAll(db, fares, minute(0), available())
    for (const n of [1, 2]) await recordAll(db, fares, minute(n), wrong)
    const recorded = await changed(db, change)

    const { askedAgain } = await closeIncident({ db, log: silentLog }, kind)
    await recordAll(db, fares, minute(3), wrong)

    expect(askedAgain).toBe(FARES - recorded)
    expect(await changed(db, change)).toBe(FARES)
    expect(await openKinds(db)).toEqual([])
  })

  it('a fifth of the fares may change at once', async ({ db }) => {
    const fares = await trackFares(db)
    await recordAll(db, fares, minute(0), available())

    for (const n of [1, 2]) await recordAll(db, fares.slice(0, FARES / 5), minute(n), wrong)

    expect(await changed(db, change)).toBe(FARES / 5)
    expect(await openKinds(db)).toEqual([])
  })
})

describe('prices that change by more than a fifth', () => {
  it.for(['50.00', '121.00'])(
    'a mass of %s instead of 100.00 is held, and undone',
    async (wrong, { db }) => {
      const fares = await trackFares(db)
      await recordAll(db, fares, minute(0), available())

      for (const n of [1, 2]) {
        for (const fare of fares) await record(db, fare, minute(n), available(wrong))
      }

      const recorded = await changed(db, 'price_changed')
      expect(recorded).toBeLessThan(20)
      expect(await openKinds(db)).toEqual(['mass_price_change'])
      expect((await countHeld(db)).mass_price_change).toBe(FARES - recorded)
      const [incident] = await listIncidents(db, { open: true, limit: 1 })
      const { id = 0 } = incident ?? {}
      const other = await trackFare(db, { flightId: 'new' })
      await record(db, other, minute(2), available(wrong))
      const reversal = await revertIncident({ db, log: silentLog }, id, { dryRun: false })
      expect(reversal).toMatchObject({ fares: recorded, records: recorded, left: 0 })
      const { rows } = await sql`select distinct price from fare_state order by price`.execute(db)
      // The first price of a fare that becomes bookable meanwhile may be as wrong.
      expect(rows).toEqual([{ price: '100.00' }, { price: null }])
      expect(await kinds(db, other)).toEqual(['became_available'])
    },
  )
})

describe('ordinary changes of price', () => {
  it('open no incident, however many fares have one, nor does a price after none', async ({
    db,
  }) => {
    const fares = await trackFares(db)
    await recordAll(db, fares, minute(0), available())

    await recordAll(db, fares, minute(1), available('120.00'))
    await sql`
      update fare_state set state = jsonb_set(state, '{outbound,price}', 'null'), price = null, currency = null
    `.execute(db)
    await recordAll(db, fares, minute(2), available('300.00'))
    await recordAll(db, fares, minute(3), available('310.00'))

    expect(await changed(db, 'price_changed')).toBe(3 * FARES)
    expect(await openKinds(db)).toEqual([])
  })
})
