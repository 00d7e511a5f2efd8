import {
  type Answer,
  adultAt,
  available,
  BACK,
  between,
  entry,
  flight,
  type Json,
  OUT,
  ok,
  price,
  returnFlight,
  segment,
  stopover,
} from './answers.ts'
import { transportAnswers } from './transport-answers.ts'

/**
 * What an answer says of the outbound flight: `available`, `unavailable`, or why it is unknown. `priceless` is available
 * with an unknown price.
 */
export type Becomes =
  | 'available'
  | 'priceless'
  | 'unavailable'
  | 'auth'
  | 'contract_violation'
  | 'other_flight'
  | 'other_passengers'
  | 'http_4xx'
  | 'http_5xx'
  | 'id_missing'
  | 'malformed'
  | 'network'
  | 'rate_limited'
  | 'timeout'
  | 'unknown_members'

export interface VerifyCase {
  readonly name: string
  readonly answer: Answer
  readonly becomes: Becomes
  /** The result for the return flight, in the cases that ask about one. */
  readonly back?: Becomes
}

const PLAIN = JSON.stringify({ [OUT]: { available: true, flight: flight() } })
const GONE = { available: false }
const TRANSPORT = transportAnswers(JSON.stringify({ [OUT]: GONE }))

const cases = (becomes: Becomes, answers: Readonly<Record<string, Answer>>): VerifyCase[] =>
  Object.entries(answers).map(([name, answer]) => ({ name, answer, becomes }))

const times = (departure: string, arrival: string, seconds: number) => ({
  departure,
  arrival,
  seconds,
})
const only = (flightFields: Json, ...names: readonly string[]): Json =>
  Object.fromEntries(Object.entries(flightFields).filter(([name]) => !names.includes(name)))

const AVAILABLE = cases('available', {
  'the answer of the interface': ok(PLAIN),
  'a flight with a stop': available(stopover()),
  'an arrival on the day before the departure, NRT to HNL': available(
    between('NRT', 'HNL', times('2027-03-01 21:00', '2027-03-01 09:00', 25_200)),
  ),
  'an arrival before the departure, AKL to LAX': available(
    between('AKL', 'LAX', times('2027-03-01 19:30', '2027-03-01 10:40', 43_800)),
  ),
  'an arrival before the departure, SYD to SFO': available(
    between('SYD', 'SFO', times('2027-03-01 21:00', '2027-03-01 14:40', 45_600)),
  ),
  'fields that the interface does not name': available({
    ...flight(),
    seats: 4,
    fare: { class: 'Y' },
  }),
  'ids as text': available(
    flight({ id: OUT, airline: { id: '9', name: 'A', twoLetterCode: 'AA' } }),
  ),
  'a flight number as text': available(flight({ legs: [segment({ number: '3900' })] })),
  'keys that were not requested': ok({ [OUT]: { available: true, flight: flight() }, 1: GONE }),
  'a null city': available(flight({ from: { id: 1, iata: 'PMI', city: null, country: 'Spain' } })),
  'no site': available(only(flight(), 'site')),
  'no duration': available({ ...only(flight(), 'duration'), legs: [only(segment(), 'duration')] }),
  'a duration that time zones explain': available(
    flight({}, times('2027-03-01 10:00', '2027-03-01 11:20', 8400)),
  ),
  'an arrival before the departure by the zones of our table': available(
    between('MAD', 'BCN', times('2027-03-01 10:00', '2027-03-01 09:00', 4800)),
  ),
  'no prices of passengers': available(flight({ price: { currency: 'EUR', total: '100.00' } })),
  'escaped names': ok(PLAIN.replace('"available"', '"\\u0061vailable"')),
  'a null flight.id': available(flight({ id: null })),
  'cities in emoji and right-to-left text': available(
    flight({ from: { id: 1, iata: '', city: '🛫 שלום', country: '' } }),
  ),
  'markup in a city': available(
    flight({ to: { id: 2, iata: 'MAD', city: '<script>alert(1)</script>', country: '' } }),
  ),
  'a name with NUL': available(flight({ airline: { id: 9, name: 'A\u0000B', twoLetterCode: '' } })),
  'half an emoji': available(flight({ airline: { id: 9, name: '\ud83d', twoLetterCode: '' } })),
  '__proto__ as a field': ok(
    PLAIN.replace('"available"', '"__proto__":{"available":false},"available"'),
  ),
  'ids beyond 2^53': ok(PLAIN.replace(/"airline":\{"id":9/g, '"airline":{"id":90071992547409931')),
})

const PRICELESS = cases('priceless', {
  'no price': available(only(flight(), 'price')),
  'a null price': available(flight({ price: null })),
  'a price as a number': available(flight({ price: price(100) })),
  'a price with a comma': available(flight({ price: price('100,00') })),
  'a negative price': available(flight({ price: price('-1.00') })),
  'NaN as a price': available(flight({ price: price('NaN') })),
  'a price with three decimals': available(flight({ price: price('100.005') })),
  'a price in exponents': available(flight({ price: price('1e2') })),
  'a total unlike the sum': available(flight({ price: price('120.00') })),
  'an empty price': available(flight({ price: price('') })),
  'a price of twenty digits': available(flight({ price: price('10000000000000000000000.00') })),
  'a zero total with a priced adult': available(flight({ price: price('0.00') })),
  'a zero total with an adult whose price is text': available(
    flight({ price: price('0.00', adultAt('100.00')) }),
  ),
  'a zero total with an adult whose price is negative': available(
    flight({ price: price('0.00', adultAt(-100)) }),
  ),
  'a zero total with an adult whose price is null': available(
    flight({ price: price('0.00', adultAt(null)) }),
  ),
  'a zero total without prices of passengers': available(
    flight({ price: { currency: 'EUR', total: '0.00' } }),
  ),
  'no currency': available(flight({ price: { total: '100.00' } })),
  'a currency that does not exist': available(
    flight({ price: price('100.00', { currency: 'XXY' }) }),
  ),
  'the currency of no currency': available(flight({ price: price('100.00', { currency: 'XXX' }) })),
  'a currency in small letters': available(flight({ price: price('100.00', { currency: 'eur' }) })),
  'a currency sign': available(flight({ price: price('100.00', { currency: '€' }) })),
})

const UNAVAILABLE = cases('unavailable', {
  'a sold-out flight': entry(GONE),
  ...TRANSPORT.read,
  'a sold-out flight with a null flight': entry({ available: false, flight: null }),
  'a sold-out flight next to others': ok({
    [OUT]: GONE,
    55: { available: true, flight: flight() },
  }),
  'an error of null next to a sold-out flight': ok({ [OUT]: GONE, error: null, errors: [] }),
})

const MEMBERS = cases('unknown_members', {
  'a sold-out flight with a note': entry({ available: false, note: 'later' }),
  'a sold-out flight with a message': entry({ available: false, message: 'try again' }),
  'a sold-out flight that was no success': ok({ success: false, [OUT]: GONE }),
  'a sold-out flight to be asked again': ok({ [OUT]: GONE, retryAfter: 30 }),
  'a sold-out flight of a part of an answer': ok({ [OUT]: GONE, meta: { partial: true } }),
})

const CONTRACT = cases('contract_violation', {
  'available without a flight': entry({ available: true }),
  'available with a null flight': entry({ available: true, flight: null }),
  'available with an empty flight': entry({ available: true, flight: {} }),
  'unavailable with a flight': entry({ available: false, flight: flight() }),
  'available as text': entry({ available: 'false' }),
  'available as a number': entry({ available: 0 }),
  'available as null': entry({ available: null }),
  'no available at all': entry({ flight: flight() }),
  'an entry of null': entry(null),
  'an entry that is a list': entry([GONE]),
  'an entry that is a boolean': entry(false),
  'unavailable with an error': entry({ available: false, error: { code: 'provider_down' } }),
  'unavailable with a text error': entry({ available: false, error: 'provider timeout' }),
  'an error at the top': ok({ error: { code: 'overloaded' }, [OUT]: GONE }),
  'errors at the top': ok({ errors: [{ code: 'overloaded' }], [OUT]: GONE }),
  'an empty list': ok([]),
  'a list of results': ok([{ id: OUT, available: false }]),
  null: ok('null'),
  true: ok('true'),
  'a number': ok('42'),
  'a text': ok('"unavailable"'),
  'no legs': available(flight({ legs: [] })),
  'legs that are an object': available(flight({ legs: segment() })),
  'thirteen legs': available(flight({ legs: Array.from({ length: 13 }, () => segment()) })),
  'no dates': available(only(flight(), 'dates')),
  'a date that does not exist': available(
    flight({}, times('2027-02-30 10:00', '2027-02-30 11:20', 4800)),
  ),
  'a date in another format': available(
    flight({}, times('2027-03-01T10:00:00Z', '2027-03-01T11:20:00Z', 4800)),
  ),
  'hour 25': available(flight({}, times('2027-03-01 25:00', '2027-03-01 26:20', 4800))),
  'a flight number that is none': available(flight({ legs: [segment({ number: 'MU3900' })] })),
  'no airline': available(only(flight(), 'airline')),
  'no destination': available(only(flight(), 'to')),
  'an id that is an object': available(
    flight({ from: { id: {}, iata: 'PMI', city: '', country: '' } }),
  ),
  'an arrival nine days before its departure': available(
    flight({}, times('2027-03-10 10:00', '2027-03-01 11:20', 4800)),
  ),
  'an arrival two months later': available(
    flight({}, times('2027-03-01 10:00', '2027-05-01 11:20', 4800)),
  ),
  'a leg two months off': available(
    flight({ legs: [segment({}, times('2027-05-01 10:00', '2027-05-01 11:20', 4800))] }),
  ),
  'a reversed leg': available(
    flight({ legs: [segment({}, times('2027-03-01 11:20', '2027-02-26 10:00', 4800))] }),
  ),
  'a duration of a month': available(
    flight({}, times('2027-03-01 10:00', '2027-03-01 11:20', 2_592_000)),
  ),
  'no duration, and an arrival six days later': available({
    ...only(flight({}, times('2027-03-01 10:00', '2027-03-07 11:20', 0)), 'duration'),
    legs: [only(segment({}, times('2027-03-01 10:00', '2027-03-07 11:20', 0)), 'duration')],
  }),
})

const MALFORMED = cases('malformed', {
  ...TRANSPORT.unread,
  ...TRANSPORT.tooLarge,
  'NaN in the body': ok(`{"${OUT}": {"available": NaN}}`),
  'the same id twice': ok(`{"${OUT}":{"available":false},"${OUT}":{"available":true}}`),
  'available twice': ok(`{"${OUT}":{"available":true,"available":false}}`),
  'a thousand levels': ok(`{"${OUT}":${'['.repeat(1000)}${']'.repeat(1000)}}`),
})

const REFUSED = [
  ...cases('http_5xx', TRANSPORT.http_5xx),
  ...cases('http_4xx', TRANSPORT.http_4xx),
  ...cases('auth', TRANSPORT.auth),
  ...cases('rate_limited', TRANSPORT.rate_limited),
  ...cases('contract_violation', TRANSPORT.redirects),
  ...cases('contract_violation', TRANSPORT.otherStatus),
  ...cases('network', TRANSPORT.network),
  ...cases('timeout', TRANSPORT.timeout),
]

const OTHER_QUESTION = [
  ...cases('other_flight', {
    'another flight.id than the key': available(flight({ id: 1 })),
  }),
  ...cases('other_passengers', {
    'prices of passengers that were not requested': available(
      flight({ price: price('100.00', { residents: { adult: 50, child: null, infant: null } }) }),
    ),
  }),
]

const MISSING = cases('id_missing', {
  'an empty object': ok({}),
  'only another id': ok({ 1: GONE }),
  'an error and no id': ok({ status: 'fail', message: 'no provider' }),
  'the id in another place': ok({ data: { [OUT]: GONE } }),
  'the id with white space': ok({ [` ${OUT}`]: GONE }),
  'the id with a leading zero': ok({ [`0${OUT}`]: GONE }),
})

const both = (
  name: string,
  out: unknown,
  back: unknown,
  becomes: Becomes,
  backBecomes: Becomes,
): VerifyCase => ({
  name,
  answer: ok({ [OUT]: out, ...(back === undefined ? {} : { [BACK]: back }) }),
  becomes,
  back: backBecomes,
})
const GOOD = { available: true, flight: flight() }
const GOOD_BACK = { available: true, flight: returnFlight() }

const PAIRS: readonly VerifyCase[] = [
  both('both available', GOOD, GOOD_BACK, 'available', 'available'),
  both('the outbound flight gone', GONE, GOOD_BACK, 'unavailable', 'available'),
  both('the return flight gone', GOOD, GONE, 'available', 'unavailable'),
  both('both gone', GONE, GONE, 'unavailable', 'unavailable'),
  both('nothing about the return flight', GOOD, undefined, 'available', 'id_missing'),
  both('a broken return flight', GOOD, { available: true }, 'available', 'contract_violation'),
  both('a broken outbound flight', { available: 1 }, GONE, 'contract_violation', 'unavailable'),
]

export const VERIFY_CASES: readonly VerifyCase[] = [
  ...AVAILABLE,
  ...PRICELESS,
  ...UNAVAILABLE,
  ...CONTRACT,
  ...MALFORMED,
  ...REFUSED,
  ...MISSING,
  ...MEMBERS,
  ...OTHER_QUESTION,
  ...PAIRS,
]
