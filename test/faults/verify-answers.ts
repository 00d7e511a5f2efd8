import type { LegObservation, Observation } from '../../src/upstream/observation.ts'
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

/**
 * What an answer says of the outbound flight: `available`, `unavailable`, or why it is unknown. `priceless` is available
 * with an unknown price.
 */
export type Becomes =
  | 'available'
  | 'priceless'
  | 'unavailable'
  | 'contract_violation'
  | 'other_flight'
  | 'other_passengers'
  | 'id_missing'
  | 'malformed'
  | 'unknown_members'

export interface VerifyCase {
  readonly name: string
  readonly answer: Answer
  readonly becomes: Becomes
  readonly anomalies: Observation['anomalies']
  /** The result for the return flight, in the cases that ask about one. */
  readonly back?: Becomes
}

export function readingOf(leg: LegObservation): string {
  if (leg.kind === 'unknown') return leg.reason
  if (leg.kind === 'unavailable') return 'unavailable'
  return leg.flight.price === null ? 'priceless' : 'available'
}

const PLAIN = JSON.stringify({ [OUT]: { available: true, flight: flight() } })
const GONE = { available: false }
const GOOD = { available: true, flight: flight() }
const GOOD_BACK = { available: true, flight: returnFlight() }

const cases = (
  becomes: Becomes,
  answers: Readonly<Record<string, Answer>>,
  ...anomalies: Observation['anomalies']
): VerifyCase[] =>
  Object.entries(answers).map(([name, answer]) => ({ name, answer, becomes, anomalies }))

const only = (flightFields: Json, ...names: readonly string[]): Json =>
  Object.fromEntries(Object.entries(flightFields).filter(([name]) => !names.includes(name)))
/** The flight with other parts, or with other times. */
const flying = (...given: Parameters<typeof flight>): Answer => available(flight(...given))
const timed = (departure: string, arrival: string, seconds = 4800): Answer =>
  flying({}, { departure, arrival, seconds })
const lasting = (seconds: number): Answer => timed('2027-03-01 10:00', '2027-03-01 11:20', seconds)
const flown = (from: string, to: string, departs: string, arrives: string, seconds: number) =>
  available(
    between(from, to, {
      departure: `2027-03-01 ${departs}`,
      arrival: `2027-03-01 ${arrives}`,
      seconds,
    }),
  )
const costing = (...given: Parameters<typeof price>): Answer => flying({ price: price(...given) })
const ofResidents = (adult: number) => ({ residents: { adult, child: null, infant: null } })
const legs = (...all: Parameters<typeof segment>[]): Answer =>
  flying({ legs: all.map((parts) => segment(...parts)) })

const AVAILABLE = [
  ...cases('available', {
    'the answer of the interface': ok(PLAIN),
    'a flight with a stop': available(stopover()),
    'an arrival on the day before the departure, NRT to HNL': flown(
      'NRT',
      'HNL',
      '21:00',
      '09:00',
      25_200,
    ),
    'an arrival before the departure, AKL to LAX': flown('AKL', 'LAX', '19:30', '10:40', 43_800),
    'an arrival before the departure, SYD to SFO': flown('SYD', 'SFO', '21:00', '14:40', 45_600),
    'no site': available(only(flight(), 'site')),
    'no duration': available({
      ...only(flight(), 'duration'),
      legs: [only(segment(), 'duration')],
    }),
    'no prices of passengers': flying({ price: { currency: 'EUR', total: '100.00' } }),
    'no price of the adult': costing('100.00', adultAt(null)),
    'a total that rounding explains': costing('100.01'),
    'another currency': costing('100.00', { currency: 'USD' }),
    'a price of zero of passengers that were not requested': costing('100.00', ofResidents(0)),
    'escaped names': ok(PLAIN.replace('"available"', '"\\u0061vailable"')),
    'cities in emoji and right-to-left text': flying({
      from: { id: 1, iata: '', city: '🛫 שלום', country: '' },
    }),
    'markup in a city': flying({
      to: { id: 2, iata: 'MAD', city: '<script>alert(1)</script>', country: '' },
    }),
    'a name with NUL': flying({ airline: { id: 9, name: 'A\u0000B', twoLetterCode: '' } }),
    'half an emoji': flying({ airline: { id: 9, name: '\ud83d', twoLetterCode: '' } }),
    'ids beyond 2^53': ok(
      PLAIN.replace(/"airline":\{"id":9/g, '"airline":{"id":90071992547409931'),
    ),
  }),
  ...cases(
    'available',
    {
      'fields that the interface does not name': flying({ seats: 4, fare: { class: 'Y' } }),
      'a field of a place of a segment that the interface does not name': legs([
        { from: { id: 1, iata: 'PMI', city: 'Palma', country: 'Spain', name: 'Palma' } },
      ]),
      'a site with the field constructor': flying({ site: { constructor: 1 } }),
      'a member next to the flight that the interface does not name': entry({
        ...GOOD,
        reason: 'x',
      }),
      '__proto__ as a field': ok(
        PLAIN.replace('"available"', '"__proto__":{"available":false},"available"'),
      ),
    },
    'unknown_fields',
  ),
  ...cases(
    'available',
    {
      'ids as text': flying({ id: OUT, airline: { id: '9', name: 'A', twoLetterCode: 'AA' } }),
      'an id of a place of a segment as text': legs([
        { to: { id: '2', iata: 'MAD', city: 'Madrid', country: 'Spain' } },
      ]),
      'a flight number as text': legs([{ number: '3900' }]),
    },
    'text_ids',
  ),
  ...cases(
    'available',
    { 'keys that were not requested': ok({ [OUT]: GOOD, 1: GONE }) },
    'extra_ids',
  ),
  ...cases(
    'available',
    {
      'a null city': flying({ from: { id: 1, iata: 'PMI', city: null, country: 'Spain' } }),
      'no name of the airline': flying({ airline: { id: 9, twoLetterCode: 'MU' } }),
      'a segment without an airline': flying({ legs: [only(segment(), 'airline')] }),
    },
    'blank_texts',
  ),
  ...cases(
    'available',
    {
      'a duration a minute off': lasting(4860),
      'a duration that is a day too long': lasting(4860 + 25 * 3600),
      'a duration as text': flying({ duration: { seconds: '4800' } }),
      'a duration of a segment that is too short': legs([{ duration: { seconds: 1 } }]),
    },
    'duration_unlike_times',
  ),
  ...cases(
    'available',
    { 'a duration that time zones explain': lasting(8400) },
    'zone_unlike_table',
  ),
  ...cases(
    'available',
    {
      'an arrival before the departure by the zones of our table': flown(
        'MAD',
        'BCN',
        '10:00',
        '09:00',
        4800,
      ),
    },
    'duration_unlike_times',
    'zone_unlike_table',
  ),
  ...cases('available', { 'a null flight.id': flying({ id: null }) }, 'flight_id_unlike_key'),
  ...cases('available', { 'a price of zero': costing('0.00', adultAt(0)) }, 'zero_price'),
]

const PRICELESS = [
  ...cases(
    'priceless',
    {
      'no price': available(only(flight(), 'price')),
      'a null price': flying({ price: null }),
      'a price as a number': costing(100),
      'a price with a comma': costing('100,00'),
      'a negative price': costing('-1.00'),
      'NaN as a price': costing('NaN'),
      'a price with three decimals': costing('100.005'),
      'a price in exponents': costing('1e2'),
      'an empty price': costing(''),
      'a price of twenty digits': costing('10000000000000000000000.00'),
      'a zero total with a priced adult': costing('0.00'),
      'a zero total with an adult whose price is text': costing('0.00', adultAt('100.00')),
      'a zero total with an adult whose price is negative': costing('0.00', adultAt(-100)),
      'a zero total with an adult whose price is null': costing('0.00', adultAt(null)),
      'a zero total without prices of passengers': flying({
        price: { currency: 'EUR', total: '0.00' },
      }),
      'no currency': flying({ price: { total: '100.00' } }),
      'a currency that does not exist': costing('100.00', { currency: 'XXY' }),
      'the currency of no currency': costing('100.00', { currency: 'XXX' }),
      'a currency in small letters': costing('100.00', { currency: 'eur' }),
      'a currency sign': costing('100.00', { currency: '€' }),
    },
    'price_unreadable',
  ),
  ...cases(
    'priceless',
    {
      'a total unlike the sum': costing('100.02'),
      'a negative price of the adult': costing('100.00', adultAt(-100)),
    },
    'total_unlike_sum',
  ),
]

const UNAVAILABLE = [
  ...cases('unavailable', {
    'a sold-out flight': entry(GONE),
    'a sold-out flight with a null flight': entry({ ...GONE, flight: null }),
  }),
  ...cases(
    'unavailable',
    { 'a sold-out flight next to others': ok({ [OUT]: GONE, 55: GOOD }) },
    'extra_ids',
  ),
  ...cases(
    'unavailable',
    { 'an error of null next to a sold-out flight': ok({ [OUT]: GONE, error: null, errors: [] }) },
    'unknown_fields',
  ),
  ...cases(
    'unknown_members',
    {
      'a sold-out flight with a message': entry({ ...GONE, message: 'try again' }),
      'a sold-out flight that was no success': ok({ success: false, [OUT]: GONE }),
      'a sold-out flight of a part of an answer': ok({ [OUT]: GONE, meta: { partial: true } }),
      'a sold-out flight next to an entry that says neither': ok({
        [OUT]: GONE,
        99: { available: 'no' },
      }),
    },
    'unknown_fields',
  ),
]

const CONTRACT = [
  ...cases('contract_violation', {
    'available without a flight': entry({ available: true }),
    'available with a null flight': entry({ available: true, flight: null }),
    'available with a flight that is a list': entry({ available: true, flight: [] }),
    'available with an empty flight': entry({ available: true, flight: {} }),
    'available as text': entry({ available: 'false' }),
    'available as a number': entry({ available: 0 }),
    'available as null': entry({ available: null }),
    'no available at all': entry({ flight: flight() }),
    'an entry of null': entry(null),
    'an entry that is a list': entry([GONE]),
    'an entry that is a boolean': entry(false),
    null: ok('null'),
    true: ok('true'),
    'a number': ok('42'),
    'a text': ok('"unavailable"'),
    'no legs': legs(),
    'legs that are an object': flying({ legs: segment() }),
    'thirteen legs': legs(...Array.from({ length: 13 }, () => [] as [])),
    'a null segment': flying({ legs: [null] }),
    'a segment without a destination': legs([{ to: {} }]),
    'no dates': available(only(flight(), 'dates')),
    'no arrival': flying({ dates: { departure: '2027-03-01 10:00' } }),
    'a date that does not exist': timed('2027-02-30 10:00', '2027-02-30 11:20'),
    'a date in another format': timed('2027-03-01T10:00:00Z', '2027-03-01T11:20:00Z'),
    'hour 25': timed('2027-03-01 25:00', '2027-03-01 26:20'),
    'a flight number that is none': legs([{ number: 'MU3900' }]),
    'no airline': available(only(flight(), 'airline')),
    'no id of the airline': flying({ airline: { name: 'Made-up Air' } }),
    'an id with a fraction': flying({ airline: { id: 7.5 } }),
    'an id that is an object': flying({ from: { id: {}, iata: 'PMI', city: '', country: '' } }),
    'no destination': available(only(flight(), 'to')),
    'an arrival nine days before its departure': timed('2027-03-10 10:00', '2027-03-01 11:20'),
    'an arrival two months later': timed('2027-03-01 10:00', '2027-05-01 11:20'),
    'a leg two months off': legs([
      {},
      { departure: '2027-05-01 10:00', arrival: '2027-05-01 11:20', seconds: 4800 },
    ]),
    'a reversed leg': legs([
      {},
      { departure: '2027-03-01 11:20', arrival: '2027-02-26 10:00', seconds: 4800 },
    ]),
    'a duration of a month': lasting(2_592_000),
    'no duration, and an arrival six days later': flying(
      { duration: undefined },
      { departure: '2027-03-01 10:00', arrival: '2027-03-07 11:20', seconds: 0 },
    ),
  }),
  ...cases(
    'contract_violation',
    { 'unavailable with a flight': entry({ ...GOOD, available: false }) },
    'flight_though_unavailable',
  ),
  ...cases(
    'contract_violation',
    {
      'unavailable with an error': entry({ ...GONE, error: { code: 'provider_down' } }),
      'unavailable with a text error': entry({ ...GONE, error: 'provider timeout' }),
      'an error at the top': ok({ error: { code: 'overloaded' }, [OUT]: GONE }),
      'errors at the top': ok({ errors: [{ code: 'overloaded' }], [OUT]: GONE }),
    },
    'unknown_fields',
  ),
  ...cases(
    'contract_violation',
    { 'an empty list': ok([]), 'a list of results': ok([{ id: OUT, available: false }]) },
    'list_for_object',
  ),
]

const MALFORMED = [
  ...cases('malformed', {
    'no body': ok(''),
    'NaN in the body': ok(`{"${OUT}": {"available": NaN}}`),
    'a thousand levels': ok(`{"${OUT}":${'['.repeat(1000)}${']'.repeat(1000)}}`),
  }),
  ...cases(
    'malformed',
    {
      'the same id twice': ok(`{"${OUT}":{"available":false},"${OUT}":{"available":true}}`),
      'available twice': ok(`{"${OUT}":{"available":true,"available":false}}`),
    },
    'doubled_names',
  ),
]

const OTHER_QUESTION = [
  ...cases(
    'other_flight',
    { 'another flight.id than the key': flying({ id: 1 }) },
    'flight_id_unlike_key',
  ),
  ...cases(
    'other_passengers',
    { 'prices of passengers that were not requested': costing('100.00', ofResidents(50)) },
    'categories_unlike_request',
  ),
  ...cases('id_missing', { 'an empty object': ok({}) }),
  ...cases(
    'id_missing',
    { 'only another id': ok({ 1: GONE }), 'the id with a leading zero': ok({ [`0${OUT}`]: GONE }) },
    'extra_ids',
  ),
  ...cases(
    'id_missing',
    {
      'an error and no id': ok({ status: 'fail', message: 'no provider' }),
      'the id in another place': ok({ data: { [OUT]: GONE } }),
      'the id with white space': ok({ [` ${OUT}`]: GONE }),
    },
    'unknown_fields',
  ),
]

/** The outbound and the return flight, and what each becomes. */
const PAIRS = (
  [
    ['both available', GOOD, GOOD_BACK, 'available', 'available'],
    ['the outbound flight gone', GONE, GOOD_BACK, 'unavailable', 'available'],
    ['the return flight gone', GOOD, GONE, 'available', 'unavailable'],
    ['both gone', GONE, GONE, 'unavailable', 'unavailable'],
    ['nothing about the return flight', GOOD, undefined, 'available', 'id_missing'],
    ['a broken return flight', GOOD, { available: true }, 'available', 'contract_violation'],
    ['a broken outbound flight', { available: 1 }, GONE, 'contract_violation', 'unavailable'],
  ] as const
).map(([name, out, returned, becomes, back]): VerifyCase => {
  const answer = ok({ [OUT]: out, ...(returned && { [BACK]: returned }) })
  return { name, answer, becomes, back, anomalies: [] }
})

export const VERIFY_CASES: readonly VerifyCase[] = [
  ...AVAILABLE,
  ...PRICELESS,
  ...UNAVAILABLE,
  ...CONTRACT,
  ...MALFORMED,
  ...OTHER_QUESTION,
  ...PAIRS,
]
