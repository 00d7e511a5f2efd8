import { describe, expect } from 'vitest'
import { closeIncident } from '../../src/fares/incidents.ts'
import type { HeldKind, MassKind } from '../../src/platform/base/change-kinds.ts'
import { type Db, sql } from '../../src/platform/db/database.ts'
import type { LegObservation } from '../../src/upstream/observation.ts'
import { listIncidents } from '../../src/views/incident-operations.ts'
import { silentLog } from '../support/silent-log.ts'
import { it } from '../support/test-database.ts'
import {
  available,
  closedAt,
  countChanges,
  gone,
  heldFares,
  minute,
  openKinds,
  passSeconds,
  RULES,
  record,
  recordAll,
  trackFare,
  trackFares,
  watchFares,
} from './fare-fixtures.ts'

const FARES = 30
/** As operators set them. */
const USUAL = { ...RULES, gainConfirmations: 2 }

interface Mass {
  readonly kind: MassKind
  readonly change: HeldKind
  readonly right: LegObservation
  readonly wrong: LegObservation
}

const LOSS: Mass = {
  kind: 'mass_loss',
  change: 'became_unavailable',
  right: available(),
  wrong: gone,
}
const DATES: Mass = {
  kind: 'mass_identity_change',
  change: 'identity_changed',
  right: available(),
  wrong: available('100.00', { identity: 'VY|1|PMI-MAD|2028-01-10' }),
}
const MASSES: readonly Mass[] = [
  LOSS,
  { kind: 'mass_gain', change: 'became_available', right: gone, wrong: available() },
  DATES,
  {
    kind: 'mass_itinerary_change',
    change: 'itinerary_changed',
    right: available(),
    wrong: available('100.00', { itinerary: '09:00|3900' }),
  },
  {
    kind: 'mass_price_change',
    change: 'price_changed',
    right: available(),
    wrong: available('9.00'),
  },
]

/** Watched fares of which two answers have shown the same, in the minutes 0 and 1. */
async function believe(db: Db, right: LegObservation, count = FARES): Promise<number[]> {
  const fares = await trackFares(db, count)
  await watchFares(db, 'ana', fares)
  for (const n of [0, 1]) await recordAll(db, fares, minute(n), right)
  return fares
}

/** Records an answer by the numbers of confirmations that operators have. */
async function answer(db: Db, fares: readonly number[], n: number, leg: LegObservation) {
  await recordAll(db, fares, minute(n), leg, null, USUAL)
}

// Fault: Mass loss: no fare is believed gone, even if only a few can be checked in the time.
describe.each(MASSES)('$kind', ({ kind, change, right, wrong }) => {
  // Fault: An upstream reports many flights falsely as available, as sold out, or at prices that differ by more than a fifth,
  // for 40 s, 5 min or 30 min.
  // Fault: Every fare gets wrong dates at once. An incident holds them, no watch ends, and the next true answers end it.
  // Fault: Every fare shows another identity, another itinerary or a price of zero at once, or one kind after the other.
  it('none is recorded of what most fares show one after the other, and it is forgotten when it disappears', async ({
    db,
  }) => {
    const fares = await believe(db, right)

    for (const n of [2, 3]) {
      for (const fare of fares) await answer(db, [fare], n, wrong)
    }
    expect(await countChanges(db, change)).toBe(0)
    expect(await openKinds(db)).toEqual([kind])
    expect(await heldFares(db)).toEqual({ [change]: FARES })

    await answer(db, fares, 5, right)
    expect(await openKinds(db)).toEqual([])
    expect(await heldFares(db)).toEqual({})
    await answer(db, fares, 12, right)
    expect(await countChanges(db, change)).toBe(0)
  })

  it('a hold ends by itself after ten minutes: what is still so is recorded by one more answer', async ({
    db,
  }) => {
    const fares = await believe(db, right)
    for (const n of [2, 3, 11]) await answer(db, fares, n, wrong)
    expect(await countChanges(db, change)).toBe(0)
    const { rows: due } = await sql`
      select distinct lane, lane_due_at as at from fare_schedule
    `.execute(db)
    expect(due).toEqual([{ lane: 'confirmation', at: minute(12) }])

    await answer(db, fares, 12, wrong)

    expect(await countChanges(db, change)).toBe(FARES)
    const { rows } = await sql`
      select distinct detected_at as detected, held_since as held from availability_change where kind = ${change}
    `.execute(db)
    expect(rows).toEqual([{ detected: minute(2), held: minute(2) }])
    expect(await openKinds(db)).toEqual([])
    expect(await heldFares(db)).toEqual({})
  })

  it('an operator who closes it has what waits recorded by one more answer, and nothing of later', async ({
    db,
  }) => {
    const fares = await believe(db, right, 2 * FARES)
    const [waiting, later] = [fares.slice(0, FARES), fares.slice(FARES)]
    await answer(db, waiting, 2, wrong)

    const { askedAgain } = await closeIncident({ db, log: silentLog }, kind)
    await closedAt(db, minute(2))
    expect(await openKinds(db)).toEqual([])
    for (const n of [3, 4]) await answer(db, fares, n, wrong)

    expect(askedAgain).toBe(FARES)
    expect(await countChanges(db, change)).toBe(FARES)
    expect(await heldFares(db)).toEqual({ [change]: later.length })
    expect(await openKinds(db)).toEqual([kind])
  })
})

it('what brings back many sold-out fares at once waits, although they were lost lately', async ({
  db,
}) => {
  const fares = await believe(db, available(), 60)
  const lose = async (at: number, n: number) => {
    await answer(db, fares.slice(20), n, available())
    await answer(db, fares.slice(at, at + 10), n, gone)
  }
  for (const n of [2, 3]) await lose(0, n)
  for (const n of [9, 10]) await lose(10, n)
  expect(await countChanges(db, 'became_unavailable')).toBe(20)

  for (const n of [11, 12, 12.5]) await answer(db, fares.slice(0, 20), n, available())

  expect(await openKinds(db)).toEqual(['mass_gain'])
  expect(await countChanges(db, 'became_available')).toBe(0)
})

// The counts are the same for all kinds: these two stand for them.
describe.each([LOSS, DATES])('the count of $kind', ({ kind, change, right, wrong }) => {
  it('a fifth of the fares may change at once', async ({ db }) => {
    const fares = await believe(db, right)
    await answer(db, fares, 2, right)

    for (const n of [3, 4]) {
      await answer(db, fares.slice(FARES / 5), n, right)
      await answer(db, fares.slice(0, FARES / 5), n, wrong)
    }

    expect(await countChanges(db, change)).toBe(FARES / 5)
    expect(await openKinds(db)).toEqual([])
  })

  it('a mass that spreads is seen, although each change is recorded before the next one', async ({
    db,
  }) => {
    const fares = await believe(db, right, 2 * FARES)

    for (const fare of fares) {
      for (const n of [2, 3]) await answer(db, [fare], n, wrong)
    }

    expect(await countChanges(db, change)).toBeLessThan(FARES)
    expect(await openKinds(db)).toEqual([kind])
  })

  it('fares of one flight are counted as one flight', async ({ db }) => {
    const same: number[] = []
    for (let adults = 2; adults < 2 + FARES; adults += 1) {
      const fare = await trackFare(db, { flightId: `F${adults}` })
      await sql`
        update tracked_fare set flight_id = 'F0', non_residents_adults = ${adults} where id = ${fare}
      `.execute(db)
      same.push(fare)
    }
    for (const n of [2, 3]) await answer(db, same, n, right)

    for (const n of [4, 5]) await answer(db, same, n, wrong)

    expect(await openKinds(db)).toEqual([])
    expect(await countChanges(db, change)).toBe(FARES)
  })
})

describe('prices that change by more than a fifth', () => {
  it.for(['50.00', '121.00'])(
    'a mass of %s instead of 100.00 is held, and the incident names what was recorded before',
    async (wrong, { db }) => {
      const fares = await believe(db, available())
      await passSeconds(db, 60)

      for (const fare of fares) {
        for (const n of [2, 3]) await record(db, fare, minute(n), available(wrong))
      }

      const recorded = await countChanges(db, 'price_changed')
      expect(recorded).toBe(19)
      expect(await openKinds(db)).toEqual(['mass_price_change'])
      expect(await heldFares(db)).toEqual({ price_changed: FARES - recorded })
      const { rows } = await sql`
        select array_agg(seq order by seq) as seqs, detail -> 'recorded' as named
          from availability_change, incident where availability_change.kind = 'price_changed' group by detail
      `.execute(db)
      expect(rows).toEqual([{ seqs: expect.any(Array), named: expect.any(Array) }])
      const [{ seqs, named }] = rows as [{ seqs: number[]; named: number[] }]
      expect(named).toEqual(seqs.map(Number))
    },
  )
})

describe('an incident of one airline', () => {
  it('names it, and the records that were written before it was seen', async ({ db }) => {
    const fares = await believe(db, available())
    await passSeconds(db, 60)

    for (const fare of fares.slice(0, 8)) {
      for (const n of [2, 3]) await record(db, fare, minute(n), gone)
    }

    const { rows } = await sql<{ seq: number }>`
      select seq from availability_change where kind = 'became_unavailable' order by seq
    `.execute(db)
    const recordedBefore = rows.map(({ seq }) => seq)
    expect(recordedBefore).toHaveLength(4)
    expect(await listIncidents(db, { limit: 10 })).toMatchObject([
      { kind: 'mass_loss', closedAt: null, airlines: ['VY'], differences: [], recordedBefore },
    ])
  })
})

describe('ordinary changes of price', () => {
  it('open no incident, however many fares have one, nor does a price after none', async ({
    db,
  }) => {
    const fares = await believe(db, available())

    await answer(db, fares, 2, available('110.00'))
    await sql`
      update fare_state
         set state = jsonb_set(jsonb_set(state, '{belief,outbound,price}', 'null'), '{belief,price}', 'null'),
             price = null, currency = null
    `.execute(db)
    for (const n of [3, 4]) await answer(db, fares, n, available('300.00'))
    await answer(db, fares, 5, available('310.00'))

    expect(await countChanges(db, 'price_changed')).toBe(3 * FARES)
    expect(await openKinds(db)).toEqual([])
  })
})
