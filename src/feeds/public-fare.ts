import { zoneOf } from '../platform/airports/airports.ts'
import { instantOfLocal, zoneOffsetMs } from '../platform/base/local-time.ts'
import type { Belief, Flight, FlightEnd, FlightPlace } from './change-shapes.ts'

/** A belief as it is stored: the FareView of fares/state.ts. Its texts to compare by are not shown. */
interface StoredFare {
  readonly pair: Belief['state']
  readonly outbound: StoredLeg
  readonly return: StoredLeg | null
  readonly price: Belief['price']
  readonly priceReason?: Belief['priceReason']
}

export interface StoredLeg {
  readonly belief: Belief['outbound']['belief']
  readonly price: StoredPrice | null
  readonly flight: StoredFlight | null
}

interface StoredPrice {
  readonly amount: string
  readonly currency: string
  readonly residents?: StoredPrices
  readonly nonResidents?: StoredPrices
}

type StoredPrices = Readonly<Record<'adult' | 'child' | 'infant', string | null>>

/** A flight as it is stored: the FlightSummary of upstream/observation.ts. */
interface StoredFlight {
  readonly from: string
  readonly to: string
  readonly airline: string
  readonly airlineCode?: string
  readonly numbers: readonly number[]
  readonly departsAt: string
  readonly departsBy?: string
  readonly arrivesAt: string
  readonly stops: readonly string[]
  readonly places?: Readonly<Record<'from' | 'to', StoredPlace>> & {
    readonly stops: readonly StoredPlace[]
  }
  readonly site?: NonNullable<Flight['site']>
}

type StoredPlace = Omit<FlightPlace, 'iata'>

/**
 * A stored belief as records and views show it: the one shape of a fare, of its prices and of its flights. Null for
 * what has no belief, as before the first record of a watch.
 */
export function publicFare(stored: StoredFare): Belief
export function publicFare(stored: unknown): Belief | null
export function publicFare(stored: unknown): Belief | null {
  if (!isFields(stored)) return null
  const { pair, outbound, return: back, price, priceReason } = stored as unknown as StoredFare
  return {
    state: pair,
    outbound: publicLeg(outbound),
    return: back ? publicLeg(back) : null,
    price: price ?? null,
    ...(priceReason === undefined ? {} : { priceReason }),
  }
}

function isFields(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null
}

/** A stored leg as beliefs show it. */
export function publicLeg(stored: StoredLeg | undefined): Belief['outbound'] {
  const { belief = 'unknown', price = null, flight = null } = stored ?? {}
  return {
    belief,
    price: price && { amount: price.amount, currency: price.currency },
    passengerPrices: price && passengerPrices(price),
    flight: publicFlight(flight),
  }
}

function passengerPrices(price: StoredPrice): Belief['outbound']['passengerPrices'] {
  const { currency, residents, nonResidents } = price
  if (residents === undefined || nonResidents === undefined) return null
  const money = (amount: string | null) => (amount === null ? null : { amount, currency })
  const all = ({ adult, child, infant }: StoredPrices) => {
    return { adult: money(adult), child: money(child), infant: money(infant) }
  }
  return { residents: all(residents), nonResidents: all(nonResidents) }
}

/** Null for a flight of a form that this version does not know: it must not hold up other records. */
export function publicFlight(stored: unknown): Flight | null {
  if (!isFields(stored)) return null
  const flight = stored as unknown as StoredFlight
  const { airline, airlineCode, numbers, departsBy, places } = flight
  // The answer contradicts our zones of its places, so neither is shown.
  const zone = departsBy === undefined ? zoneOf : () => undefined
  const departure = endOf({ name: flight.from, known: places?.from, local: flight.departsAt }, zone)
  const arrival = endOf({ name: flight.to, known: places?.to, local: flight.arrivesAt }, zone)
  if (departure === null || arrival === null || typeof airline !== 'string') return null
  if (!Array.isArray(numbers)) return null
  const stops = flight.stops ?? []
  return {
    airline: { iata: airlineCode ?? null, name: airline },
    numbers: [...numbers],
    departure,
    arrival,
    stops: stops.map((name, at) => placeOf(name, places?.stops[at])),
    site: flight.site ?? null,
  }
}

const CODE = /^[A-Z]{3}$/
const LOCAL_TIME = /^\d{4}-\d\d-\d\d \d\d:\d\d$/

interface ShownEnd {
  /** The code of the place, or its city or id if it has none. */
  readonly name: unknown
  readonly known: StoredPlace | undefined
  readonly local: unknown
}

function endOf({ name, known, local }: ShownEnd, zoneAt: typeof zoneOf): FlightEnd | null {
  if (typeof name !== 'string' || typeof local !== 'string') return null
  const ms = LOCAL_TIME.test(local) ? Date.parse(`${local.replace(' ', 'T')}:00Z`) : Number.NaN
  if (Number.isNaN(ms)) return null
  const zone = zoneAt(name) ?? null
  const at = zone === null ? null : withOffset(zone, ms)
  return { place: placeOf(name, known), localTime: local, zone, at }
}

function placeOf(name: string, known: StoredPlace | undefined): FlightPlace {
  const iata = CODE.test(name) ? name : null
  if (known !== undefined) return { iata, ...known }
  return { iata, id: null, city: iata === null ? name : null, country: null }
}

/** @example withOffset('Europe/Madrid', Date.parse('2026-11-24T10:25Z')) // '2026-11-24T10:25:00+01:00' */
function withOffset(zone: string, local: number): string {
  const instant = instantOfLocal(zone, local)
  const offset = zoneOffsetMs(zone, instant)
  const minutes = Math.abs(offset) / 60_000
  const two = (value: number) => String(value).padStart(2, '0')
  const time = new Date(instant + offset).toISOString().slice(0, 19)
  return `${time}${offset < 0 ? '-' : '+'}${two(Math.floor(minutes / 60))}:${two(minutes % 60)}`
}
