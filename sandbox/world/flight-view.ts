import type { Airport } from './airports.ts'
import { HOUR_MS, MINUTE_MS } from './episodes.ts'
import type { FareState } from './fare-life.ts'
import type { Flight, Segment } from './flight-schedule.ts'
import { localText } from './geography.ts'
import type { PassengerCounts, PassengerMix } from './passengers.ts'
import { drawInteger } from './random.ts'
import type * as wire from './wire.ts'

const AIRLINE = 81
const CHILD_SHARE = 0.75
const INFANT_SHARE = 0.1
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

/** The flight as verify shows it to these passengers. */
export function viewFlight(
  departure: Flight,
  state: FareState & { available: true },
  mix: PassengerMix,
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
    price: viewPrice(departure, state.adultCents, mix),
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

interface TypeCents {
  readonly adult: number
  readonly child: number
  readonly infant: number
}

function viewPrice({ pair }: Flight, adultCents: number, mix: PassengerMix): wire.Price {
  const { residents, nonResidents } = mix
  const seats = residents.adults + residents.children + nonResidents.adults + nonResidents.children
  const partyCents = adultCents * (seats >= LARGE_PARTY_SEATS ? LARGE_PARTY_FACTOR : 1)
  const reduced =
    pair.from.country === pair.to.country && (pair.from.residentFares || pair.to.residentFares)
  const full = typeCents(partyCents)
  const resident = typeCents(partyCents * (reduced ? RESIDENT_SHARE : 1))
  return {
    currency: CURRENCY,
    total: ((totalCents(resident, residents) + totalCents(full, nonResidents)) / 100).toFixed(2),
    residents: viewPrices(resident, residents),
    nonResidents: viewPrices(full, nonResidents),
  }
}

function typeCents(adultCents: number): TypeCents {
  return {
    adult: Math.round(adultCents),
    child: Math.round(adultCents * CHILD_SHARE),
    infant: Math.round(adultCents * INFANT_SHARE),
  }
}

function totalCents(cents: TypeCents, { adults, children, infants }: PassengerCounts): number {
  return cents.adult * adults + cents.child * children + cents.infant * infants
}

function viewPrices(cents: TypeCents, counts: PassengerCounts): wire.PassengerPrices {
  return {
    adult: counts.adults > 0 ? cents.adult / 100 : null,
    child: counts.children > 0 ? cents.child / 100 : null,
    infant: counts.infants > 0 ? cents.infant / 100 : null,
  }
}
