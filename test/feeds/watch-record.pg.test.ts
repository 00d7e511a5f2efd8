import { describe, expect } from 'vitest'
import type { WatchChange } from '../../src/feeds/watch-record.ts'
import type { Db } from '../../src/platform/db/database.ts'
import type { FlightSummary, LegObservation } from '../../src/upstream/observation.ts'
import { appendRecords } from '../delivery/delivery-fixtures.ts'
import { available, gone, minute, record } from '../fares/fare-fixtures.ts'
import { it } from '../support/test-database.ts'
import { cells, resellerWith } from '../watches/watch-fixtures.ts'
import { readFareRecords } from './fare-records.ts'

const MIX = { residents_adults: '1', non_residents_adults: '2', non_residents_children: '1' }

const PALMA = { id: '101', city: 'Palma', country: 'Spain' }
const BARCELONA = { id: '103', city: 'Barcelona', country: null }
const SITE = { id: '5', name: 'Saffron Travel', url: 'https://saffron.example/fares' }

/** An answer with this flight from place 101 to place 103. */
function flying(given: Partial<FlightSummary> = {}, price = '100.00'): LegObservation {
  const flight: FlightSummary = {
    from: 'PMI',
    to: 'BCN',
    airline: 'Llevant Airways',
    airlineCode: 'LV',
    numbers: [1579],
    departsAt: '2027-07-10 10:25',
    arrivesAt: '2027-07-10 11:20',
    stops: [],
    places: { from: PALMA, to: BARCELONA, stops: [] },
    site: SITE,
    ...given,
  }
  const identity = `airline 7, legs 1, 101 to 103, ${flight.departsAt.slice(0, 10)}`
  const leg = available(price, { identity, itinerary: flight.departsAt })
  return leg.kind === 'available' ? { ...leg, flight: { ...leg.flight, flight } } : leg
}

async function feedOf(db: Db, resellerId: number, publicUrl?: string): Promise<WatchChange[]> {
  return readFareRecords({ db, publicUrl }, resellerId, { after: 0, limit: 100 })
}

async function fareOf(db: Db): Promise<number> {
  const { id } = await db.selectFrom('tracked_fare').select('id').executeTakeFirstOrThrow()
  return id
}

describe('a record of a reseller', () => {
  it('names passengers, flights, places, times with their offset, evidence and page', async ({
    db,
  }) => {
    const resellerId = await resellerWith(db, [cells({ ...MIX, reference: 'A/1 ä' })])
    const fareId = await fareOf(db)
    await record(db, fareId, minute(0), flying())
    await record(db, fareId, minute(2), gone)
    await record(db, fareId, minute(4), gone)

    const [started, lost] = await feedOf(db, resellerId, 'https://fares.example/x')

    const flight = {
      airline: { iata: 'LV', name: 'Llevant Airways' },
      numbers: [1579],
      departure: {
        place: { iata: 'PMI', id: '101', city: 'Palma', country: 'Spain' },
        localTime: '2027-07-10 10:25',
        zone: 'Europe/Madrid',
        at: '2027-07-10T10:25:00+02:00',
      },
      arrival: {
        place: { iata: 'BCN', id: '103', city: 'Barcelona', country: null },
        localTime: '2027-07-10 11:20',
        zone: 'Europe/Madrid',
        at: '2027-07-10T11:20:00+02:00',
      },
      stops: [],
      site: SITE,
    }
    expect(lost).toMatchObject({
      kind: 'became_unavailable',
      passengers: {
        residents: { adults: 1, children: 0, infants: 0 },
        nonResidents: { adults: 2, children: 1, infants: 0 },
      },
      link: 'https://fares.example/x/#/watches/summer/A%2F1%20%C3%A4',
      before: { state: 'bookable', price: { amount: '100.00', currency: 'EUR' } },
      after: { state: 'not_bookable' },
      evidence: { askedAt: minute(4), since: minute(2), held: null },
    })
    expect(lost?.flights).toEqual({ outbound: flight, return: null })
    expect(started?.flights.outbound).toEqual(flight)
    expect(started?.evidence).toEqual({ askedAt: minute(0), since: minute(0), held: null })
  })

  it('guesses nothing: places without a known zone, airlines without a code, odd flights', async ({
    db,
  }) => {
    const resellerId = await resellerWith(db, [cells({ reference: 'A' })])
    const { airlineCode: _c, places: _p, site: _s, ...known } = flightOf(flying())
    const plain = { ...known, from: 'Nowhere', to: 'ZZZ' }
    const states = [
      { outbound: { flight: plain, identity: null } },
      { outbound: { flight: { ...plain, from: 'Nis', to: 'Pau' }, identity: null } },
      { outbound: { flight: { ...plain, from: 'PMI', departsBy: minute(0) }, identity: null } },
      { outbound: { flight: { ...plain, departsAt: 'soon' } } },
      { outbound: { flight: { ...plain, numbers: 'many' } } },
      { outbound: { flight: 'none' } },
      'text',
      null,
    ]
    await appendRecords(
      db,
      { resellerId, reference: 'A' },
      states.map((after) => ({ before: {}, after })),
    )

    const [first, cities, pending, ...odd] = (await feedOf(db, resellerId)).map(
      ({ flights }) => flights.outbound,
    )

    expect(first).toMatchObject({
      airline: { iata: null, name: 'Llevant Airways' },
      departure: {
        place: { iata: null, id: null, city: 'Nowhere', country: null },
        localTime: '2027-07-10 10:25',
        zone: null,
        at: null,
      },
      arrival: { place: { iata: 'ZZZ', id: null }, zone: null, at: null },
    })
    for (const flight of [cities, pending]) {
      expect(flight).toMatchObject({
        departure: { zone: null, at: null },
        arrival: { zone: null, at: null },
      })
    }
    expect(odd).toEqual([null, null, null, null, null])
  })
})

function flightOf(leg: LegObservation): FlightSummary {
  if (leg.kind !== 'available') throw new Error('the leg has no flight')
  return leg.flight.flight
}
