import { type Question, questionWith } from '../../src/upstream/question.ts'

export const { passengers: ONE_ADULT } = questionWith({ flightId: '1234' })

export function question(parts: Partial<Question> = {}): Question {
  return { ...questionWith({ flightId: '1234' }), ...parts }
}

/** Replacements for fields of a flight, with any values. */
export type FlightParts = Readonly<Record<string, unknown>>

const PALMA = { id: 101, iata: 'PMI', city: 'Palma', country: 'Spain' }
const MADRID = { id: 102, iata: 'MAD', city: 'Madrid', country: 'Spain' }
const VIGO = { id: 103, iata: 'VGO', city: 'Vigo', country: 'Spain' }
const AIRLINE = { id: 7, name: 'Tramontana Air', twoLetterCode: 'T1' }

function dates(departure: string, arrival: string) {
  return { departure: `2026-07-20 ${departure}`, arrival: `2026-07-20 ${arrival}` }
}

export function segment(parts: FlightParts = {}) {
  return {
    from: PALMA,
    to: MADRID,
    number: 11,
    dates: dates('08:00', '09:30'),
    duration: { human: '1h 30m', seconds: 5_400 },
    airline: AIRLINE,
    ...parts,
  }
}

const SECOND_SEGMENT = segment({
  from: MADRID,
  to: VIGO,
  number: 12,
  dates: dates('10:30', '11:45'),
  duration: { human: '1h 15m', seconds: 4_500 },
})

/** Flight 1234 from Palma by Madrid to Vigo for one adult, as the interface documents it. */
export function flight(parts: FlightParts = {}) {
  return {
    from: PALMA,
    to: VIGO,
    legs: [segment(), SECOND_SEGMENT],
    dates: dates('08:00', '11:45'),
    duration: { human: '3h 45m', seconds: 13_500 },
    airline: AIRLINE,
    site: { id: 1, name: 'Site', url: 'https://site.invalid/', logo: 'https://site.invalid/l.png' },
    id: 1234,
    price: price(),
    ...parts,
  }
}

const NO_PRICES = { adult: null, child: null, infant: null }

export function price(parts: FlightParts = {}) {
  return {
    currency: 'EUR',
    total: '84.50',
    residents: NO_PRICES,
    nonResidents: { ...NO_PRICES, adult: 84.5 },
    ...parts,
  }
}

/** A verify result with one available flight, with the id of `question()`. */
export function available(parts: FlightParts = {}, id = '1234') {
  return { [id]: { available: true, flight: flight(parts) } }
}
