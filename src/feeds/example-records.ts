import {
  type ExampleFare,
  type FareRecordKind,
  isRouteKind,
  kindOf,
  type RouteChangeKind,
  type WatchChangeKind,
} from '../platform/base/change-kinds.ts'
import { questionWith } from '../upstream/question.ts'
import {
  type FeedRecord,
  type RouteRecord,
  toWatchChange,
  type WatchChange,
} from './watch-record.ts'

const PMI = { id: '103', city: 'Palma de Mallorca', country: 'Spain' }
const BCN = { id: '102', city: 'Barcelona', country: 'Spain' }

const OUT = {
  from: 'PMI',
  to: 'BCN',
  airline: 'Llevant Airways',
  airlineCode: 'LV',
  numbers: [1579],
  departsAt: '2030-01-31 10:25',
  arrivesAt: '2030-01-31 11:20',
  stops: [],
  places: { from: PMI, to: BCN, stops: [] },
  site: { id: '5', name: 'Saffron Travel', url: 'https://saffron.example' },
}
const BACK = {
  ...OUT,
  from: 'BCN',
  to: 'PMI',
  numbers: [1580],
  departsAt: '2030-02-07 18:40',
  arrivesAt: '2030-02-07 19:35',
  places: { from: BCN, to: PMI, stops: [] },
}
const LATER = { ...OUT, departsAt: '2030-01-31 12:05', arrivesAt: '2030-01-31 13:00' }
const RESOLD = { ...OUT, site: { id: '8', name: 'Cobalt Fares', url: 'https://cobalt.example' } }
const OTHER = { ...OUT, airline: 'Tramontana Air', airlineCode: 'TM', numbers: [742] }

type ShownFlight = typeof OUT

/** Two adults and a child, none of them a resident: a child costs about half. */
function passengersOf(amount: string) {
  const cents = Math.round(100 * Number(amount))
  const adult = Math.floor(cents * 0.4)
  const euros = (each: number) => (each / 100).toFixed(2)
  return {
    residents: { adult: null, child: null, infant: null },
    nonResidents: { adult: euros(adult), child: euros(cents - 2 * adult), infant: null },
  }
}

function openLeg(flight: ShownFlight, amount: string | null) {
  const price = amount === null ? null : { amount, currency: 'EUR', ...passengersOf(amount) }
  return { belief: 'available', price, flight }
}

const LOST_LEG = { belief: 'unavailable', price: null, flight: null }

function bookable(flight: ShownFlight, amount: string) {
  const price = { amount, currency: 'EUR' }
  return { pair: 'bookable', outbound: openLeg(flight, amount), return: null, price }
}

const OPEN = bookable(OUT, '348.81')
const LOST = { pair: 'not_bookable', outbound: LOST_LEG, return: null, price: null }
const BOTH_LOST = { ...LOST, return: LOST_LEG }

interface ShownFare {
  readonly outbound: { readonly flight: ShownFlight | null }
  readonly return: object | null
}

/** What the examples show before and after. */
const FARES: Readonly<Record<ExampleFare, ShownFare | null>> = {
  none: null,
  open: OPEN,
  lost: LOST,
  'both lost': BOTH_LOST,
  'one open': { ...BOTH_LOST, outbound: openLeg(OUT, null) },
  cheaper: bookable(OUT, '312.40'),
  later: bookable(LATER, '348.81'),
  'other site': bookable(RESOLD, '348.81'),
  'other flight': bookable(OTHER, '348.81'),
}

type Unnumbered<R> = R extends FeedRecord ? Omit<R, 'seq'> : never

function exampleOfRoute(kind: RouteChangeKind): Unnumbered<RouteRecord> {
  const [departure, destination] = [
    { iata: 'PMI', ...PMI },
    { iata: 'BCN', ...BCN },
  ]
  const { id, ...after } = departure
  const isPlace = kind === 'place_changed'
  const listed = new Date('2030-01-02T03:00:00Z')
  return {
    kind,
    schemaVersion: 4,
    watchId: null,
    reference: null,
    list: null,
    ...(isPlace
      ? { place: { id, before: { ...after, city: 'Palma' }, after } }
      : { route: { departure, destination } }),
    firstSeenAt: isPlace ? null : listed,
    runId: 812,
    detectedAt: listed,
    recordedAt: new Date('2030-01-02T03:00:04Z'),
  }
}

/** A record of a kind as an example, without the number that a record has. It is about no real watch. */
export function exampleRecord(kind: FareRecordKind): Unnumbered<WatchChange>
export function exampleRecord(kind: WatchChangeKind): Unnumbered<FeedRecord>
export function exampleRecord(kind: WatchChangeKind): Unnumbered<FeedRecord> {
  if (isRouteKind(kind)) return exampleOfRoute(kind)
  const { example, reasons } = kindOf(kind)
  const [before, after] = [FARES[example?.before ?? 'none'], FARES[example?.after ?? 'none']]
  const isPair = !!after?.return
  const isPrice = kind === 'price_changed'
  const { seq: _none, ...record } = toWatchChange(
    {
      seq: 0,
      kind,
      reason: reasons?.[0] ?? null,
      schemaVersion: 3,
      watchId: '00000000-0000-7000-8000-00000000a001',
      reference: 'A-1',
      list: 'summer',
      ...questionWith({
        flightId: '103102206541',
        returnFlightId: isPair ? '102103309540' : null,
        passengers: { nonResidents: { adults: 2, children: 1 } },
      }),
      lastGoodCheckAt: before === null ? null : new Date('2030-01-02T11:58:00Z'),
      detectedAt: new Date('2030-01-02T11:59:00Z'),
      recordedAt: new Date('2030-01-02T11:59:21Z'),
      before,
      after,
      outbound: after?.outbound.flight ?? OUT,
      back: isPair ? BACK : null,
      intents: isPrice ? ['priceDrop'] : [],
      saving: isPrice ? '36.41' : null,
      notifiedAmount: null,
      notifiedCurrency: null,
      context: isPrice ? { days: 44, prices: 41, lowest: true, percentile: 0 } : null,
      askedAt: kind === 'expired' ? null : '2030-01-02T11:59:20Z',
      heldSince: null,
      incident: null,
    },
    'https://fares.example',
  )
  return record
}
