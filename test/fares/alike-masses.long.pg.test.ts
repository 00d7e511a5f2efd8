import { describe, expect } from 'vitest'
import { type Db, sql } from '../../src/platform/db/database.ts'
import type { FlightSummary, LegObservation } from '../../src/upstream/observation.ts'
import { it } from '../support/test-database.ts'
import {
  available,
  countChanges,
  gone,
  heldFares,
  minute,
  observation,
  openKinds,
  RULES,
  recordEach,
  trackFares,
  watchFares,
} from './fare-fixtures.ts'

const USUAL = { ...RULES, gainConfirmations: 2 }

interface Flown {
  readonly airline: string
  readonly number: number
  readonly from?: string
  readonly departs?: string
  readonly arrives?: string
  readonly numbers?: readonly number[]
  readonly amount?: string
  readonly currency?: string
}

/** An available flight, whose identity and itinerary follow from what is given. */
function flown({ airline, number, from = 'PMI', ...given }: Flown): LegObservation {
  const { departs = '2027-01-10 08:00', arrives = '2027-01-10 09:20', amount = '100.00' } = given
  const numbers = given.numbers ?? [number]
  const leg = available(amount, {
    price: { amount, currency: given.currency ?? 'EUR' },
    identity: `${airline} ${numbers.length} ${from} ${departs.slice(0, 10)}`,
    itinerary: `${numbers.join('+')} ${departs} ${arrives}`,
  })
  if (leg.kind !== 'available') throw new Error('the fixture is available')
  const flight: FlightSummary = {
    ...leg.flight.flight,
    airline,
    from,
    numbers,
    departsAt: departs,
    arrivesAt: arrives,
  }
  return { kind: 'available', flight: { ...leg.flight, departsAt: departs, flight } }
}

const BATCH = 10

/** Each is of one fare, recorded in batches as a worker does. */
async function answers(
  db: Db,
  fares: readonly number[],
  [at, legOf]: readonly [at: Date, legOf: (i: number) => LegObservation],
): Promise<void> {
  const given = fares.map((fareId, i) => {
    const askedAt = new Date(at.getTime() + i * 100)
    return { fareId, askedAt, observation: observation(legOf(i), null) }
  })
  for (let from = 0; from < given.length; from += BATCH) {
    await recordEach(db, given.slice(from, from + BATCH), USUAL)
  }
}

async function watched(
  db: Db,
  count: number,
  legOf: (i: number) => LegObservation,
): Promise<number[]> {
  const fares = await trackFares(db, count)
  await watchFares(db, 'ana', fares)
  await answers(db, fares, [minute(0), legOf])
  return fares
}

async function masses(db: Db): Promise<unknown> {
  const { rows } = await sql<{ masses: unknown }>`
    select detail -> 'masses' as masses from incident where closed_at is null
  `.execute(db)
  return rows.map((row) => row.masses)
}

describe('a lie about one airline', () => {
  // Fault: One airline is shown as sold out for minutes, or few flights of many airlines change alike: by a shift of times, in
  // UTC, without a leg, by a factor of the price. Held for ten minutes, and forgotten when it disappears.
  it('records no sell-out of its thirty flights, among a hundred honest flights of others', async ({
    db,
  }) => {
    const airlineOf = (i: number) => (i % 5 === 0 ? 'LY' : `H${i % 9}`)
    const honest = (i: number) => flown({ airline: airlineOf(i), number: i })
    const lying = (i: number) => (airlineOf(i) === 'LY' ? gone : honest(i))
    const fares = await watched(db, 150, honest)

    for (const n of [1, 2, 3]) await answers(db, fares, [minute(n), lying])

    expect(await countChanges(db, 'became_unavailable')).toBe(0)
    expect(await heldFares(db)).toEqual({ became_unavailable: 30 })
    expect(await masses(db)).toEqual([[{ airline: 'LY', difference: null }]])
    await answers(db, fares, [minute(4), honest])
    expect(await openKinds(db)).toEqual([])
    expect(await heldFares(db)).toEqual({})
  })

  it('leaves an airline alone that sells out four flights of thirty', async ({ db }) => {
    const honest = (i: number) => flown({ airline: 'TR', number: i })
    const fares = await watched(db, 30, honest)

    for (const n of [1, 2]) {
      await answers(db, fares, [minute(n), (i) => (i >= 26 ? gone : honest(i))])
    }

    expect(await countChanges(db, 'became_unavailable')).toBe(4)
    expect(await openKinds(db)).toEqual([])
  })
})

/** A few flights of many airlines that change alike, among a hundred that do not. */
const ALIKE: readonly {
  readonly what: string
  readonly right: (i: number) => Flown
  readonly wrong: (i: number) => Partial<Flown>
  readonly kind: string
}[] = [
  {
    what: 'departures an hour later',
    right: (i) => ({ airline: `A${i}`, number: i }),
    wrong: () => ({ departs: '2027-01-10 09:00' }),
    kind: 'itinerary_changed',
  },
  {
    what: 'departures in UTC, each by the offset of its own zone',
    right: (i) => ({ airline: `A${i}`, number: i, from: i % 2 === 0 ? 'PMI' : 'JFK' }),
    wrong: (i) => ({ departs: i % 2 === 0 ? '2027-01-10 07:00' : '2027-01-10 13:00' }),
    kind: 'itinerary_changed',
  },
  {
    what: 'connections without their last leg',
    right: (i) => ({ airline: `A${i}`, number: i, numbers: [i, 500 + i] }),
    wrong: (i) => ({ numbers: [i] }),
    kind: 'identity_changed',
  },
  {
    what: 'prices for one passenger of three',
    right: (i) => ({ airline: `A${i}`, number: i, amount: (300 + 3 * i).toFixed(2) }),
    wrong: (i) => ({ amount: (100 + i).toFixed(2) }),
    kind: 'price_changed',
  },
  {
    what: 'prices in another currency',
    right: (i) => ({ airline: `A${i}`, number: i }),
    wrong: () => ({ currency: 'USD' }),
    kind: 'price_changed',
  },
]

describe.each(ALIKE)('$what', ({ right, wrong, kind }) => {
  const changed = 8
  const honest = (i: number) => flown(right(i))
  const lying = (i: number) => flown({ ...right(i), ...(i < changed ? wrong(i) : {}) })

  it('of eight flights are held, although they are few', async ({ db }) => {
    const fares = await watched(db, 100, honest)

    for (const n of [1, 2, 3]) await answers(db, fares, [minute(n), lying])

    expect(await countChanges(db, kind)).toBe(0)
    expect(await heldFares(db)).toEqual({ [kind]: changed })
    await answers(db, fares.slice(0, changed), [minute(12), lying])
    expect(await countChanges(db, kind)).toBe(changed)
  })
})

describe('true changes that are alike', () => {
  it('a sale of a fifth, and one flight that is retimed on forty dates, are recorded', async ({
    db,
  }) => {
    const dateOf = (i: number) => `2027-02-${String((i % 28) + 1).padStart(2, '0')}`
    const before = (i: number) => flown({ airline: 'TR', number: 7, departs: `${dateOf(i)} 08:00` })
    const after = (i: number) =>
      i % 5 === 0
        ? flown({ airline: 'TR', number: 7, departs: `${dateOf(i)} 09:00`, amount: '80.00' })
        : flown({ airline: 'TR', number: 7, departs: `${dateOf(i)} 08:00`, amount: '80.00' })
    const fares = await watched(db, 100, before)

    for (const n of [1, 2]) await answers(db, fares, [minute(n), after])

    expect(await countChanges(db, 'itinerary_changed')).toBe(20)
    expect(await countChanges(db, 'price_changed')).toBe(100)
    expect(await openKinds(db)).toEqual([])
  })
})
