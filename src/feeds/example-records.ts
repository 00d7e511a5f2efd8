import type { WatchChangeKind } from '../platform/base/kinds.ts'
import { toWatchChange, type WatchChange } from './watch-record.ts'

const OUT = {
  from: 'PMI',
  to: 'BCN',
  airline: 'Llevant Airways',
  airlineCode: 'LV',
  numbers: [1579],
  departsAt: '2030-01-31 10:25',
  arrivesAt: '2030-01-31 11:20',
  stops: [],
}
const BACK = {
  ...OUT,
  from: 'BCN',
  to: 'PMI',
  numbers: [1580],
  departsAt: '2030-02-07 18:40',
  arrivesAt: '2030-02-07 19:35',
}
const LATER = { ...OUT, departsAt: '2030-01-31 12:05', arrivesAt: '2030-01-31 13:00' }
const OTHER = { ...OUT, airline: 'Tramontana Air', airlineCode: 'TM', numbers: [742] }

const PMI = { id: '103', code: 'PMI', city: 'Palma de Mallorca', country: 'Spain' }
const BCN = { id: '102', code: 'BCN', city: 'Barcelona', country: 'Spain' }

type ShownFlight = typeof OUT

function openLeg(flight: ShownFlight, amount: string | null) {
  const { from, airline, numbers, departsAt, arrivesAt } = flight
  const [origin, destination] = from === 'PMI' ? [PMI.id, BCN.id] : [BCN.id, PMI.id]
  const airlineId = airline === OUT.airline ? 7 : 8
  const times = `${departsAt} to ${arrivesAt}`
  return {
    belief: 'available',
    price: amount === null ? null : { amount, currency: 'EUR' },
    identity: `airline ${airlineId}, legs 1, ${origin} to ${destination}, ${departsAt.slice(0, 10)}`,
    itinerary: `${times}; ${numbers[0]}: ${origin} ${departsAt} to ${destination} ${arrivesAt}`,
    flight,
  }
}

const LOST_LEG = {
  belief: 'unavailable',
  price: null,
  identity: null,
  itinerary: null,
  flight: null,
}

function bookable(flight: ShownFlight, amount: string) {
  const price = { amount, currency: 'EUR' }
  return { pair: 'bookable', outbound: openLeg(flight, amount), return: null, price }
}

const OPEN = bookable(OUT, '348.81')
const LOST = { pair: 'not_bookable', outbound: LOST_LEG, return: null, price: null }
const BOTH_LOST = { ...LOST, return: LOST_LEG }

/** What each kind shows. */
const STATES: Readonly<
  Record<WatchChangeKind, Pick<WatchChange, 'before' | 'after'> & Partial<WatchChange>>
> = {
  watch_started: { before: null, after: OPEN },
  became_available: { before: LOST, after: OPEN },
  became_unavailable: { before: OPEN, after: LOST, reason: 'sold_out' },
  legs_changed: {
    before: BOTH_LOST,
    after: { ...BOTH_LOST, outbound: openLeg(OUT, null) },
    returnFlightId: '103101309540',
  },
  price_changed: { before: OPEN, after: bookable(OUT, '312.40') },
  itinerary_changed: { before: OPEN, after: bookable(LATER, '348.81') },
  identity_changed: { before: OPEN, after: bookable(OTHER, '348.81') },
  expired: { before: OPEN, after: LOST, reason: 'departed' },
}

/** A record of a kind as an example, without the numbers that a record has. It is about no real watch. */
export function exampleRecord(kind: WatchChangeKind): Omit<WatchChange, 'seq' | 'generation'> {
  const {
    seq: _none,
    generation: _neither,
    ...record
  } = toWatchChange(
    {
      seq: 0,
      generation: 1,
      kind,
      reason: null,
      schemaVersion: 3,
      watchId: '00000000-0000-7000-8000-00000000a001',
      reference: 'A-1',
      list: 'summer',
      flightId: '103102206541',
      returnFlightId: null,
      passengers: {
        residents: { adults: 0, children: 0, infants: 0 },
        nonResidents: { adults: 2, children: 1, infants: 0 },
      },
      lastGoodCheckAt: kind === 'watch_started' ? null : new Date('2030-01-02T11:58:00Z'),
      detectedAt: new Date('2030-01-02T11:59:00Z'),
      recordedAt: new Date('2030-01-02T11:59:21Z'),
      ...STATES[kind],
      outbound: {
        flight: kind === 'itinerary_changed' ? LATER : kind === 'identity_changed' ? OTHER : OUT,
        from: PMI,
        to: BCN,
      },
      back: kind === 'legs_changed' ? { flight: BACK, from: BCN, to: PMI } : null,
      askedAt: kind === 'expired' ? null : '2030-01-02T11:59:20Z',
      heldSince: null,
      incident: null,
    },
    'https://fares.example',
  )
  return record
}
