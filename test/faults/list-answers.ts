import { type Answer, JSON_TYPE, type Json, ok } from './answers.ts'

/** What a list becomes: the number of its routes, or why it is rejected. */
export type ListBecomes = number | 'contract_violation' | 'too_large'

export interface ListCase {
  readonly name: string
  readonly answer: Answer
  readonly becomes: ListBecomes
}

const cases = (becomes: ListBecomes, answers: Readonly<Record<string, Answer>>): ListCase[] =>
  Object.entries(answers).map(([name, answer]) => ({ name, answer, becomes }))

export const place = (id: unknown, more: Json = {}): Json => ({
  id,
  iata: 'PMI',
  city: 'Palma',
  country: 'Spain',
  ...more,
})
export const route = (departure: unknown, destination: unknown, more: Json = {}): Json => ({
  departure,
  destination,
  ...more,
})

const MADRID = place('2', { iata: 'MAD', city: 'Madrid' })
const HOME = route(place('1'), MADRID)
const BACK = route(MADRID, place('1'))
const PLAIN = JSON.stringify([HOME, BACK])

/** The list of a good route and one from this departure. */
const from = (departure: unknown): Answer => ok([HOME, route(departure, MADRID)])
/** The same, where the text `"ID"` is replaced as JSON text. */
const withId = (id: string): Answer =>
  ok(JSON.stringify([HOME, route(place('ID'), MADRID)]).replace('"ID"', id))
const spelled = (count: number): Answer =>
  ok(Array.from({ length: count }, (_, at) => route(place('1', { city: `Palma ${at}` }), MADRID)))

const READ: readonly ListCase[] = [
  ...cases(0, {
    'an empty list': ok([]),
    'an empty list in white space': ok(' [\r\n] '),
  }),
  ...cases(2, {
    'the list of the interface': ok(PLAIN),
    'white space around everything': ok(`\n ${PLAIN.replace(/([{}[\],:])/g, ' $1\r\n\t')} `),
    'fields of a route that the interface does not name': ok([HOME, { ...BACK, airline: 'XX' }]),
    'fields of a place that the interface does not name': from(place('3', { zone: 'CET' })),
    'an error field in a route': ok([HOME, { ...BACK, error: null }]),
    'ids as numbers': from(place(3)),
    'the id 0': from(place(0)),
    'an id beyond 2^53': withId('90071992547409931'),
    'an id as a whole number with a fraction of zero': withId('7.0'),
    'an id of 200 characters': from(place('x'.repeat(200))),
    'an id that is an IATA code': from(place('BCN')),
    'an id with white space around it': from(place(' 3 ')),
    'ids that differ in case alone': ok([route(place('a'), MADRID), route(place('A'), MADRID)]),
    'a null code': from(place('3', { iata: null })),
    'no code': from({ id: '3', city: 'Palma', country: 'Spain' }),
    'only an id': from({ id: '3' }),
    'a city that is a number': from(place('3', { city: 7 })),
    'a country that is an object': from(place('3', { country: { code: 'ES' } })),
    'a code of five letters': from(place('3', { iata: 'PMI-X' })),
    'a code in small letters': from(place('3', { iata: 'pmi' })),
    'a city of 300 characters': from(place('3', { city: 'x'.repeat(300) })),
    'a city with NUL': from(place('3', { city: 'a\u0000b' })),
    'half an emoji in a city': from(place('3', { city: '\ud83d' })),
    'emoji and right-to-left text': from(place('3', { city: '🛫 שלום' })),
    'markup in a city': from(place('3', { city: '<script>alert(1)</script>' })),
    'a formula in a city': from(place('3', { city: '=HYPERLINK("x")' })),
    'line ends and escape sequences in a city': from(place('3', { city: 'a\r\n\u001b[2Jb' })),
    'SQL in a city': from(place('3', { city: "'); drop table route; --" })),
    '__proto__ as a field': ok(PLAIN.replace('"iata"', '"__proto__":{"id":"9"},"iata"')),
    'escaped names': ok(PLAIN.replaceAll('"departure"', '"\\u0064eparture"')),
    'a place with two spellings': from(place('1', { city: 'Palma de Mallorca' })),
    'a route to itself': ok([HOME, route(MADRID, MADRID)]),
    'a route twice': ok([HOME, HOME]),
    'a name twice in a route, of which the last counts': ok(
      PLAIN.replace('"departure"', '"departure":null,"departure"'),
    ),
    'twenty levels in an unknown field': ok(
      JSON.stringify([HOME, { ...BACK, x: 0 }]).replace(
        '0}',
        `${'['.repeat(20)}${']'.repeat(20)}}`,
      ),
    ),
  }),
  ...cases(16, { 'a place with sixteen spellings': spelled(16) }),
]

const SHAPES = cases('contract_violation', {
  null: ok('null'),
  true: ok('true'),
  'a number': ok('42'),
  'a text': ok('"routes"'),
  'an object': ok({}),
  'an error in an object': ok({ error: { code: 'maintenance' } }),
  'a list in an object': ok({ routes: [HOME, BACK] }),
  'routes by their ids': ok({ 1: HOME, 2: BACK }),
  'a list of lists': ok([[HOME], [BACK]]),
  'a list of null': ok([HOME, null]),
  'a list of numbers': ok([1, 2]),
  'a list of texts': ok(['PMI-MAD']),
  'an empty route': ok([HOME, {}]),
  'a route that is an error': ok([HOME, { error: 'timeout' }]),
  'no departure': ok([HOME, { destination: MADRID }]),
  'no destination': ok([HOME, { departure: MADRID }]),
  'other names of the ends': ok([{ from: MADRID, to: place('1') }]),
  'names in capitals': ok([{ Departure: MADRID, Destination: place('1') }]),
  'a null departure': from(null),
  'a departure that is a text': from('PMI'),
  'a departure that is a number': from(1),
  'a departure that is a list': from([place('3')]),
  'a place without an id': from({ iata: 'PMI', city: 'Palma', country: 'Spain' }),
  'a null id': from(place(null)),
  'an empty id': from(place('')),
  'a blank id': from(place(' \t')),
  'a boolean id': from(place(true)),
  'an id that is an object': from(place({ value: '3' })),
  'an id that is a list': from(place(['3'])),
  'a negative id': from(place(-1)),
  'an id with a fraction': from(place(1.5)),
  'an id beyond every number': withId('1e400'),
  'an id in exponents whose digits are unknown': withId('1e17'),
  'an id with NUL': from(place('3\u0000')),
  'an id with half an emoji': from(place('\ud83d')),
  'an id of 201 characters': from(place('x'.repeat(201))),
  'a place with seventeen spellings': spelled(17),
  'a seventeenth spelling that differs in its code': ok([
    ...Array.from({ length: 16 }, (_, at) => route(place('1', { city: `${at}` }), MADRID)),
    route(place('1', { iata: 'XXX' }), MADRID),
  ]),
})

const BODIES = cases('contract_violation', {
  'no body': ok(''),
  'a byte order mark': ok(`\ufeff${PLAIN}`),
  'a body of white space': ok(' \n '),
  'a list without its end': ok(PLAIN.slice(0, -1)),
  'a list closed by another bracket': ok(`${PLAIN.slice(0, -1)}}`),
  'a list and an error': ok(`${PLAIN}{"error":"timeout"}`),
  'a list and HTML': ok(`${PLAIN}<!-- 12 ms -->`),
  'a route a line': ok(`${JSON.stringify(HOME)}\n${JSON.stringify(BACK)}`),
  'a leading comma': ok(`[,${PLAIN.slice(1)}`),
  'two commas': ok(PLAIN.replace('},{"departure"', '},,{"departure"')),
  'no comma between two routes': ok(PLAIN.replace('},{"departure"', '}{"departure"')),
  'names without quotes': ok(PLAIN.replaceAll('"departure"', 'departure')),
  'NaN as an id': withId('NaN'),
  'a text that is never closed': ok(`${PLAIN.slice(0, -1)},"x]`),
  'a line end in a text': ok(PLAIN.replace('Palma', 'Pal\nma')),
  'bytes that are not UTF-8': {
    headers: JSON_TYPE,
    body: Buffer.from(PLAIN.replace('Palma', 'P\u00e1lma'), 'latin1'),
  },
  'a NUL byte after the list': ok(`${PLAIN}\u0000`),
  'forty levels': ok(`[${'['.repeat(40)}${']'.repeat(40)}]`),
})

/** The cap of a route is 64 KB, whatever the cap of the body. */
const SIZES = cases('too_large', {
  'a route of 70 KB': from(place('3', { city: 'x'.repeat(70_000) })),
  'a route of 70 KB of white space': ok(
    PLAIN.replace('},{"departure"', `},${' '.repeat(70_000)}{"departure"`),
  ),
  '70 KB of white space before the list': ok(' '.repeat(70_000) + PLAIN),
  '70 KB of white space after the list': ok(PLAIN + ' '.repeat(70_000)),
})

export const LIST_CASES: readonly ListCase[] = [...READ, ...SHAPES, ...BODIES, ...SIZES]
