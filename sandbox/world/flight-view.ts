import type { Airport } from './airports.ts'
import { HOUR_MS, MINUTE_MS } from './episodes.ts'
import type { FareState } from './fare-life.ts'
import type { Flight, Segment } from './flight-schedule.ts'
import { localText } from './geography.ts'
import { drawInteger } from './random.ts'
import {
  PASSENGER_TYPES,
  type PassengerCounts,
  type PassengerType,
  type Terms,
  TYPE_NAMES,
} from './terms.ts'
import type * as wire from './wire.ts'

const AIRLINE = 81
const RESIDENT_SHARE = 0.25

/** assumption: from this many seats on, every passenger of the party pays a higher fare. */
const LARGE_PARTY_SEATS = 5
const LARGE_PARTY_FACTOR = 1.06

/** assumption: every fare is in euros. */
const CURRENCY = 'EUR'

/** These airlines do not exist. The addresses of their sites are in the reserved domain `.invalid`. */
const FIRST_AIRLINE: wire.Airline = { id: 1, name: 'Tramontana Air', twoLetterCode: 'T1' }
const AIRLINES: readonly wire.Airline[] = [
  FIRST_AIRLINE,
  { id: 2, name: 'Llevant Airways', twoLetterCode: 'L2' },
  { id: 3, name: 'Meridian Blue', twoLetterCode: 'M3' },
  { id: 4, name: 'Atlantic Heron', twoLetterCode: 'H4' },
  { id: 5, name: 'Nordwind Express', twoLetterCode: 'N5' },
  { id: 6, name: 'Cormorant', twoLetterCode: 'C6' },
  { id: 7, name: 'Saffron Airlines', twoLetterCode: 'S7' },
  { id: 8, name: 'Pampa Jet', twoLetterCode: 'P8' },
]

/** The flight as verify shows it on these terms. */
export function viewFlight(
  departure: Flight,
  state: FareState & { available: true },
  terms: Terms,
): wire.Flight {
  const { pair, segments } = departure
  const startsAt = departure.scheduledAt + state.shiftMs
  const airline = airlineOf(departure)
  const last = segments.at(-1)
  const totalMs = last ? last.startMs + last.durationMs : 0
  return {
    from: viewPlace(pair.from),
    to: viewPlace(pair.to),
    legs: segments.map((segment) => viewLeg(segment, startsAt, airline)),
    dates: viewDates(pair.from, pair.to, { startsAt, durationMs: totalMs }),
    duration: viewDuration(totalMs),
    airline,
    site: siteOf(airline),
    id: departure.id,
    price: viewPrice(departure, state.adultCents, terms),
  }
}

function airlineOf({ pair, segments }: Flight): wire.Airline {
  const index = drawInteger(pair.word, AIRLINE + (segments[0]?.flightNumber ?? 0), AIRLINES.length)
  return AIRLINES[index] ?? FIRST_AIRLINE
}

function siteOf({ id, name, twoLetterCode }: wire.Airline): wire.Site {
  const url = `https://${twoLetterCode.toLowerCase()}.sandbox.invalid/`
  return { id: 100 + id, name, url, logo: `${url}logo.png` }
}

function viewPlace({ id, iata, city, country }: Airport): wire.FlightPlace {
  return { id, iata, city, country }
}

function viewLeg(segment: Segment, departsAt: number, airline: wire.Airline): wire.Leg {
  const { from, to, durationMs } = segment
  return {
    from: viewPlace(from),
    to: viewPlace(to),
    number: segment.flightNumber,
    dates: viewDates(from, to, { startsAt: departsAt + segment.startMs, durationMs }),
    duration: viewDuration(durationMs),
    airline,
  }
}

function viewDates(
  from: Airport,
  to: Airport,
  { startsAt, durationMs }: { startsAt: number; durationMs: number },
): wire.FlightDates {
  return {
    departure: localText(from.zone, startsAt),
    arrival: localText(to.zone, startsAt + durationMs),
  }
}

function viewDuration(ms: number): wire.FlightDuration {
  const minutes = Math.floor((ms % HOUR_MS) / MINUTE_MS)
  return { human: `${Math.floor(ms / HOUR_MS)}h ${minutes}m`, seconds: ms / 1000 }
}

function viewPrice({ pair }: Flight, adultCents: number, terms: Terms): wire.Price {
  const { residents, nonResidents } = terms
  const seats = TYPE_NAMES.filter((type) => PASSENGER_TYPES[type].hasSeat)
    .map((type) => residents[type] + nonResidents[type])
    .reduce((sum, count) => sum + count)
  const partyCents = adultCents * (seats >= LARGE_PARTY_SEATS ? LARGE_PARTY_FACTOR : 1)
  const reduced =
    pair.from.country === pair.to.country && (pair.from.residentFares || pair.to.residentFares)
  const resident = partyCents * (reduced ? RESIDENT_SHARE : 1)
  const totalCents = groupCents(resident, residents) + groupCents(partyCents, nonResidents)
  return {
    currency: CURRENCY,
    total: (totalCents / 100).toFixed(2),
    residents: viewPrices(resident, residents),
    nonResidents: viewPrices(partyCents, nonResidents),
  }
}

function centsOf(adultCents: number, type: PassengerType): number {
  return Math.round(adultCents * PASSENGER_TYPES[type].share)
}

function groupCents(adultCents: number, counts: PassengerCounts): number {
  return TYPE_NAMES.reduce((sum, type) => sum + centsOf(adultCents, type) * counts[type], 0)
}

function viewPrices(adultCents: number, counts: PassengerCounts): wire.PassengerPrices {
  const prices = TYPE_NAMES.map((type) => {
    const each = counts[type] > 0 ? centsOf(adultCents, type) / 100 : null
    return [PASSENGER_TYPES[type].priced, each] as const
  })
  return Object.fromEntries(prices) as unknown as wire.PassengerPrices
}
