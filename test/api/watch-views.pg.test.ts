import { describe, expect } from 'vitest'
import { type Db, sql } from '../../src/platform/db/database.ts'
import { available, endFares, gone, record } from '../fares/fare-fixtures.ts'
import { startApi } from '../support/api-server.ts'
import { it } from '../support/test-database.ts'
import {
  ago,
  beginAt,
  fareOf,
  itemsOf,
  listWith,
  newCaller,
  type ResellerCalls,
  watch,
} from './reseller-calls.ts'

const A_1 = '/watch-lists/summer/watches/A-1'

/** Adds a reseller with one watch that began half an hour ago, and finds its fare. */
async function addWatch(
  db: Db,
  given: Record<string, unknown> = {},
): Promise<{ ana: ResellerCalls; fareId: number; base: string }> {
  const base = await startApi(db)
  const ana = await newCaller(db, base, 'ana')
  await listWith(ana, 'summer', [watch('A-1', given)])
  await beginAt(db, ana, ago(30))
  return { ana, base, fareId: await fareOf(db, '101') }
}

it('a watch shows its belief and its next check', async ({ db }) => {
  const { ana, fareId } = await addWatch(db)
  await record(db, fareId, ago(20), available('100.00'))
  await record(db, fareId, ago(10), available('109.50'))

  const { body } = await ana.get(A_1)

  expect(body).toMatchObject({
    status: 'followed',
    belief: {
      state: 'bookable',
      price: { amount: '109.50', currency: 'EUR' },
      outbound: { belief: 'available', flight: { departure: { place: { iata: 'PMI' } } } },
      return: null,
    },
    lastGoodCheckAt: ago(10).toISOString(),
    lastCheckAt: ago(10).toISOString(),
    next: { notBefore: ago(9).toISOString(), why: 'scheduled' },
  })
})

describe('the last flight of a watch', () => {
  const FLIGHT = {
    airline: { name: 'VY' },
    numbers: [3900],
    departure: { place: { iata: 'PMI' }, localTime: '2027-01-10 08:00', zone: 'Europe/Madrid' },
    arrival: { place: { iata: 'MAD' } },
  }

  it('a sold-out watch shows its last flight and price, and a bookable one does not', async ({
    db,
  }) => {
    const { ana, fareId } = await addWatch(db)
    await record(db, fareId, ago(20), available('100.00'))
    await record(db, fareId, ago(18), available('110.00'))
    const bookable = await ana.get(A_1)
    await record(db, fareId, ago(16), gone)
    await record(db, fareId, ago(15), gone)

    const soldOut = await ana.get(A_1)
    await sql`update fare_state set departs_at = clock_timestamp()`.execute(db)
    expect(await endFares(db)).toBe(1)
    const departed = await ana.get(A_1)

    const lastFlight = {
      outbound: FLIGHT,
      return: null,
      price: { amount: '110.00', currency: 'EUR' },
      at: ago(18).toISOString(),
    }
    expect(bookable.body).toMatchObject({ belief: { state: 'bookable' }, lastFlight: null })
    expect(soldOut.body).toMatchObject({ belief: { outbound: { flight: null } }, lastFlight })
    expect(departed.body).toMatchObject({ status: 'expired', lastFlight })
  })

  it('a paused watch shows the flight and price of its pause, whatever is checked for others', async ({
    db,
  }) => {
    const { ana, fareId } = await addWatch(db)
    await record(db, fareId, ago(20), available('100.00'))
    await record(db, fareId, ago(18), available('110.00'))
    await ana.send('POST', '/watch-lists/summer/pause', {})

    const paused = await ana.get(A_1)
    const { rows } = await sql<{ now: Date }>`select clock_timestamp() as now`.execute(db)
    const later = rows[0]?.now ?? new Date()
    await record(db, fareId, later, available('80.00', { itinerary: '09:00|4000' }))
    const checked = await ana.get(A_1)

    expect(paused.body).toMatchObject({
      status: 'paused',
      lastFlight: {
        outbound: FLIGHT,
        return: null,
        price: { amount: '110.00', currency: 'EUR' },
        at: ago(18).toISOString(),
      },
    })
    expect(checked.body).toEqual(paused.body)
  })

  it('a watch that began later shows no price of the time before it', async ({ db }) => {
    const { base, fareId } = await addWatch(db)
    await record(db, fareId, ago(20), available('100.00'))
    await record(db, fareId, ago(16), gone)
    await record(db, fareId, ago(15), gone)
    const ben = await newCaller(db, base, 'ben')
    await listWith(ben, 'late', [watch('B')])

    const { body } = await ben.get('/watch-lists/late/watches/B')

    expect(body.lastFlight).toMatchObject({ outbound: FLIGHT, price: null, at: null })
  })
})

it('a timeline shows the beliefs since the watch began, newest first', async ({ db }) => {
  const { ana, fareId } = await addWatch(db)
  await record(db, fareId, ago(25), available('100.00'))
  await record(db, fareId, ago(20), available('110.00'))
  await record(db, fareId, ago(16), gone)
  await record(db, fareId, ago(15), gone)
  await record(db, fareId, ago(10), available('80.00'))

  const timeline = itemsOf(await ana.get(`${A_1}/timeline`))

  const at = (minutes: number) => ago(minutes).toISOString()
  const rows = timeline.map((one) => [
    one.validFrom,
    one.validTo,
    one.state,
    one.outbound,
    one.price,
  ])
  const euros = (amount: string) => ({ amount, currency: 'EUR' })
  expect(rows).toEqual([
    [at(10), null, 'bookable', 'available', euros('80.00')],
    [at(15), at(10), 'not_bookable', 'unavailable', null],
    [at(20), at(15), 'bookable', 'available', euros('110.00')],
    [at(30), at(20), 'bookable', 'available', euros('100.00')],
  ])
  expect(timeline[0]).toMatchObject({ return: null, priceCheckedAt: at(10), priceReason: null })
})

it('the strips of a list have the intervals of each watch since it began, oldest first, and nothing of others', async ({
  db,
}) => {
  const STRIPS = '/watch-lists/summer/strips'
  const base = await startApi(db)
  const [ana, ben] = [await newCaller(db, base, 'ana'), await newCaller(db, base, 'ben')]
  await listWith(ana, 'summer', [watch('A-1'), watch('A-2', { flightId: '102' })])
  await beginAt(db, ana, ago(30))
  const fareId = await fareOf(db, '101')
  await record(db, fareId, ago(20), available('100.00'))
  await record(db, fareId, ago(10), gone)
  await record(db, fareId, ago(9), gone)
  await listWith(ben, 'summer', [watch('B-1')])
  await beginAt(db, ben, ago(5))

  const strips = itemsOf(await ana.get(STRIPS))

  const price = { amount: '100.00', currency: 'EUR' }
  expect(strips).toMatchObject([
    {
      reference: 'A-1',
      intervals: [
        { validFrom: ago(20).toISOString(), state: 'bookable', price },
        { validTo: null, state: 'not_bookable', price: null },
      ],
    },
    { reference: 'A-2', intervals: [], bookableShare: null },
  ])
  // Eleven minutes bookable, then at least nine sold out, more on a slow machine. The ten minutes before the first check
  // do not count.
  const [{ watchId, bookableShare } = { watchId: '' }] = strips
  expect(bookableShare).toBeGreaterThan(11 / 60)
  expect(bookableShare).toBeLessThanOrEqual(11 / 20)
  const since = [{ validFrom: ago(5).toISOString(), validTo: null }]
  await ana.play([`GET ${STRIPS}?watchIds=${String(watchId)}`, undefined, { items: [{ watchId }] }])
  await ben.play(
    [`GET ${STRIPS}`, undefined, { items: [{ reference: 'B-1', intervals: since }] }],
    ['GET /watch-lists/winter/strips', undefined, 404],
  )
})
