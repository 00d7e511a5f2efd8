import type { Airport } from '../../sandbox/world/airports.ts'
import { instantOfLocal, zoneOffsetMs } from '../../src/platform/base/local-time.ts'
import { DAY_MS, type Fare, type Flight, type Passengers, type Phase } from './market.ts'

/** An answer as it arrives. */
export interface Wire {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** How an answer deviates from what is true of a flight. */
export interface Twist {
  /** Times are in UTC, and not those of their places. */
  readonly isUtc?: boolean
  /** Only the first segment of the flight is there. */
  readonly isCut?: boolean
  readonly currency?: string
  readonly factor?: number
  /** The total is that of these passengers. */
  readonly totalOf?: Passengers
}

const MINUTE_MS = 60_000
/** Between two segments. */
const LAYOVER_MINUTES = 75
const SITE = {
  id: 1,
  name: 'Site',
  url: 'https://site.invalid/',
  logo: 'https://site.invalid/l.png',
}
const NONE = { adult: null, child: null, infant: null }

/** The entry of one flight, as the interface documents it. */
export function entryOf(
  flight: Flight,
  { isForSale, ...phase }: Phase,
  { passengers, ...twist }: Twist & { readonly passengers: Passengers },
): Record<string, unknown> {
  if (!isForSale) return { available: false }
  const { airline, id } = flight
  const all = segmentsOf(flight, phase, twist)
  const legs = twist.isCut ? all.slice(0, 1) : all
  const [first, last] = [legs[0], legs.at(-1)]
  const { departure } = first?.dates ?? { departure: '' }
  const { arrival } = last?.dates ?? { arrival: '' }
  return {
    available: true,
    flight: {
      from: first?.from,
      to: last?.to,
      legs,
      dates: { departure, arrival },
      duration: durationOf(totalMinutes(flight, legs.length)),
      airline: airlineOf(airline),
      site: SITE,
      id: Number(id),
      price: priceOf(phase.cents, passengers, twist),
    },
  }
}

function airlineOf({ id, name, code }: Flight['airline']) {
  return { id, name, twoLetterCode: code }
}

function segmentsOf(
  { places, airMinutes, airline, number, departsMs }: Flight,
  { minutes, days }: Pick<Phase, 'minutes' | 'days'>,
  { isUtc = false }: Twist,
) {
  const [from] = places as readonly [Airport]
  const localMs = departsMs + days * DAY_MS + minutes * MINUTE_MS
  let atMs = instantOfLocal(from.zone, localMs)
  const local = (place: Airport) => textOf(isUtc ? atMs : atMs + zoneOffsetMs(place.zone, atMs))
  return airMinutes.map((air, i) => {
    const [here, there] = places.slice(i, i + 2) as [Airport, Airport]
    const departure = local(here)
    atMs += air * MINUTE_MS
    const arrival = local(there)
    atMs += LAYOVER_MINUTES * MINUTE_MS
    return {
      from: placeOf(here),
      to: placeOf(there),
      number: number + 1_000 * i,
      dates: { departure, arrival },
      duration: durationOf(air),
      airline: airlineOf(airline),
    }
  })
}

function totalMinutes({ airMinutes }: Flight, segments: number): number {
  return airMinutes
    .slice(0, segments)
    .reduce((sum, air) => sum + air + LAYOVER_MINUTES, -LAYOVER_MINUTES)
}

function durationOf(minutes: number) {
  return { human: `${Math.floor(minutes / 60)}h ${minutes % 60}m`, seconds: 60 * minutes }
}

function placeOf({ id, iata, city, country }: Airport) {
  return { id, iata, city, country }
}

/** @example '2027-02-01 08:00' */
function textOf(localMs: number): string {
  return new Date(localMs).toISOString().slice(0, 16).replace('T', ' ')
}

function priceOf(
  cents: number,
  passengers: Passengers,
  { currency = 'EUR', factor = 1, totalOf = passengers }: Twist,
) {
  const adult = Math.round(cents * factor)
  const child = Math.round(0.75 * adult)
  const [adults, children] = totalOf
  return {
    currency,
    total: ((adults * adult + children * child) / 100).toFixed(2),
    residents: NONE,
    nonResidents: { ...NONE, adult: adult / 100, child: passengers[1] > 0 ? child / 100 : null },
  }
}

/** An honest entry is asked for hundreds of times. */
const honest = new WeakMap<Phase, Map<string, string>>()

function honestEntry(flight: Flight, phase: Phase, passengers: Passengers): string {
  const known = honest.get(phase) ?? new Map<string, string>()
  honest.set(phase, known)
  const key = passengers.join()
  const entry = known.get(key) ?? JSON.stringify(entryOf(flight, phase, { passengers }))
  known.set(key, entry)
  return entry
}

/** The body of an honest answer. */
export function honestBody({ legs, passengers }: Fare, phases: readonly Phase[]): string {
  const entries = legs.flatMap((flight, i) => {
    const phase = phases[i]
    if (flight === undefined || phase === undefined) return []
    return [`"${flight.id}":${honestEntry(flight, phase, passengers)}`]
  })
  return `{${entries.join()}}`
}

/** A 200 of JSON, made at an instant. */
export function responseOf(
  body: string,
  madeMs: number,
  headers: Record<string, string> = {},
): Wire {
  const date = new Date(madeMs).toUTCString()
  return { status: 200, headers: { 'content-type': 'application/json', date, ...headers }, body }
}
