import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib'
import {
  type Answer,
  adultAt,
  available,
  BACK,
  between,
  entry,
  flight,
  JSON_TYPE,
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

export interface VerifyCase {
  readonly name: string
  readonly answer: Answer
  readonly becomes: Becomes
  /** The result for the return flight, in the cases that ask about one. */
  readonly back?: Becomes
}

const PLAIN = JSON.stringify({ [OUT]: { available: true, flight: flight() } })
const GONE = { available: false }

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
  'a total unlike the sum': available(flight({ price: price('120.00') })),
  'no prices of passengers': available(flight({ price: { currency: 'EUR', total: '100.00' } })),
  'white space around the body': ok(`\n  ${PLAIN}\r\n `),
  'a content type with a charset': ok(PLAIN, { 'content-type': 'application/json; charset=UTF-8' }),
  'a content type in capitals': ok(PLAIN, { 'content-type': 'Application/JSON' }),
  'escaped names': ok(PLAIN.replace('"available"', '"\\u0061vailable"')),
  'a body in gzip': {
    headers: { ...JSON_TYPE, 'content-encoding': 'gzip' },
    body: gzipSync(PLAIN),
  },
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
  'a header of the cache': ok(PLAIN, { 'cache-control': 'max-age=3600', age: '9999' }),
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
  'a sold-out flight with a null flight': entry({ available: false, flight: null }),
  'a sold-out flight next to others': ok({
    [OUT]: GONE,
    55: { available: true, flight: flight() },
  }),
  'a sold-out flight with an unknown field': entry({ available: false, note: 'later' }),
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
  'an arrival before the departure where the zones are known': available(
    between('MAD', 'BCN', times('2027-03-01 10:00', '2027-03-01 09:00', 4800)),
  ),
})

const MALFORMED = cases('malformed', {
  'a problem with status 200': ok({ [OUT]: GONE }, { 'content-type': 'application/problem+json' }),
  'an empty body': ok(''),
  'a body in brotli, which was not accepted': {
    headers: { ...JSON_TYPE, 'content-encoding': 'br' },
    body: brotliCompressSync(PLAIN),
  },
  'a body in deflate, which was not accepted': {
    headers: { ...JSON_TYPE, 'content-encoding': 'deflate' },
    body: deflateSync(PLAIN),
  },
  'half a body': ok(PLAIN.slice(0, PLAIN.length / 2)),
  'two bodies': ok(PLAIN + PLAIN),
  'a trailing comma': ok(`${PLAIN.slice(0, -1)},}`),
  'single quotes': ok(`{'${OUT}': {'available': false}}`),
  'NaN in the body': ok(`{"${OUT}": {"available": NaN}}`),
  'a comment': ok(`/* */${PLAIN}`),
  'a byte order mark': ok(`\ufeff${PLAIN}`),
  'UTF-16': { headers: JSON_TYPE, body: Buffer.from(PLAIN, 'utf16le') },
  'bytes that are not UTF-8': {
    headers: JSON_TYPE,
    body: Buffer.from([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x3a, 0x31, 0x7d]),
  },
  'the same id twice': ok(`{"${OUT}":{"available":false},"${OUT}":{"available":true}}`),
  'available twice': ok(`{"${OUT}":{"available":true,"available":false}}`),
  'a thousand levels': ok(`{"${OUT}":${'['.repeat(1000)}${']'.repeat(1000)}}`),
  'HTML as JSON': ok('<html><body>Service unavailable</body></html>'),
  'HTML as HTML': {
    headers: { 'content-type': 'text/html' },
    body: '<html><body>hello</body></html>',
  },
  'JSON as plain text': ok(PLAIN, { 'content-type': 'text/plain' }),
  'JSON without a content type': { body: PLAIN },
  JavaScript: ok(`callback(${PLAIN})`, { 'content-type': 'application/javascript' }),
  'broken gzip': { headers: { ...JSON_TYPE, 'content-encoding': 'gzip' }, body: 'not gzip' },
  'half of gzip': {
    headers: { ...JSON_TYPE, 'content-encoding': 'gzip' },
    body: gzipSync(PLAIN).subarray(0, 60),
  },
  'an unknown encoding': { headers: { ...JSON_TYPE, 'content-encoding': 'snappy' }, body: PLAIN },
  'a gzip bomb': {
    headers: { ...JSON_TYPE, 'content-encoding': 'gzip' },
    body: gzipSync(Buffer.alloc(20_000_000, 32)),
  },
  'twenty megabytes': ok(`${' '.repeat(20_000_000)}${PLAIN}`),
})

const STATUS = [
  ...cases('http_5xx', {
    'a 500': { status: 500, headers: JSON_TYPE, body: '{"error":"internal"}' },
    'a 500 with a good body': { ...ok({ [OUT]: GONE }), status: 500 },
    'a 501': { status: 501 },
    'a 502 of a proxy': {
      status: 502,
      headers: { 'content-type': 'text/html' },
      body: '<h1>Bad gateway</h1>',
    },
    'a 503': { status: 503 },
    'a 504': { status: 504 },
    'a 599': { status: 599 },
  }),
  ...cases('http_4xx', {
    'a 400': { status: 400, headers: JSON_TYPE, body: '{"error":"adults"}' },
    'a 404': { status: 404 },
    'a 404 with a good body': { ...ok({ [OUT]: GONE }), status: 404 },
    'a 405': { status: 405 },
    'a 410': { status: 410 },
    'a 418': { status: 418 },
    'a 422': { status: 422 },
    'a 451': { status: 451 },
  }),
  ...cases('auth', {
    'a 401': { status: 401, headers: JSON_TYPE, body: '{"error":"token"}' },
    'a 403': { status: 403 },
    'a 401 with a good body': { ...ok({ [OUT]: GONE }), status: 401 },
    'a login form': {
      headers: { 'content-type': 'text/html' },
      body: '<html><form action="/login"><input type="password" name="p"></form></html>',
    },
    'a redirect to a login page': { status: 302, headers: { location: '/login' } },
  }),
  ...cases('rate_limited', {
    'a 429': { status: 429 },
    'a 429 in seconds': { status: 429, headers: { 'retry-after': '3' } },
    'a 429 for 31 years': { status: 429, headers: { 'retry-after': '1000000000' } },
    'a 429 with garbage': { status: 429, headers: { 'retry-after': 'soon' } },
  }),
  ...cases('contract_violation', {
    'a 204': { status: 204 },
    'a 201 with a good body': { ...ok({ [OUT]: GONE }), status: 201 },
    'a 206': { ...ok({ [OUT]: GONE }), status: 206 },
    'a 304': { status: 304 },
    'a redirect to another host': {
      status: 301,
      headers: { location: 'http://127.0.0.1:9/elsewhere' },
    },
    'a redirect without a location': { status: 307 },
  }),
]

const WIRE = [
  ...cases('network', {
    'a reset before the headers': { wire: 'reset' },
    'a reset in the body': { ...ok(PLAIN), wire: 'reset-in-body' },
  }),
  ...cases('malformed', {
    'an end in the body': { ...ok(PLAIN), wire: 'truncated' },
    'bytes that are not HTTP': { wire: 'garbage' },
  }),
  ...cases('timeout', {
    silence: { wire: 'silent' },
    'silence in the body': { ...ok(PLAIN), wire: 'silent-in-body' },
    'a byte at a time': { ...ok(PLAIN), wire: 'byte-by-byte' },
  }),
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
  ...STATUS,
  ...WIRE,
  ...MISSING,
  ...OTHER_QUESTION,
  ...PAIRS,
]
