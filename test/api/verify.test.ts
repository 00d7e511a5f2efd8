import fc from 'fast-check'
import { Value } from 'typebox/value'
import { describe, expect, it } from 'vitest'
import { readTerms as sandboxReadTerms } from '../../sandbox/world/terms.ts'
import answers from '../../src/app/api-examples.json' with { type: 'json' }
import {
  ignoredTerms,
  onDemandPolicy,
  readQuestion,
  VerifyResultShape,
} from '../../src/fares/verify-operations.ts'
import { ProblemError } from '../../src/platform/http/problems.ts'
import { readFlight } from '../../src/upstream/fares/read-flight.ts'
import { type QuestionField, TERM_FIELDS } from '../../src/upstream/question.ts'

const ID = '101103205320'
const PASSENGERS = {
  residents: { adults: 0, children: 0, infants: 0 },
  nonResidents: { adults: 2, children: 0, infants: 0 },
}
const { flight } = answers.verifyFares[ID]
const { price, from, airline } = flight

describe('the documented schema of a verify answer', () => {
  it.each([
    ['a price of three places', { price: { ...price, total: 97.635 } }],
    ['a price that is not a number', { price: { ...price, total: 'NaN' } }],
    ['no price', { price: undefined }],
    ['a price that is not an object', { price: '169.00' }],
    ['ids as text', { id: ID, from: { ...from, id: '101' }, airline: { ...airline, id: '7' } }],
    ['a flight number as text', { legs: flight.legs.map((leg) => ({ ...leg, number: '11' })) }],
    ['missing names', { from: { id: 101 }, airline: { id: 7, name: null } }],
    ['a duration in seconds', { duration: 5_400 }],
    ['no site, and an unknown field', { site: undefined, colour: 'red' }],
  ])('the schema allows %s', (_what, unusual) => {
    const sent = { ...flight, ...unusual }
    const show = (text: string) => text
    const viewed = () => readFlight(sent, { id: ID, passengers: PASSENGERS, show, showUrl: show })

    expect(viewed).not.toThrow()
    expect(Value.Errors(VerifyResultShape, { [ID]: { available: true, flight: sent } })).toEqual([])
  })
})

const count = fc.oneof(
  { weight: 6, arbitrary: fc.integer({ min: -1, max: 14 }).map(String) },
  fc.constantFrom(
    '',
    ' ',
    'two',
    '1.5',
    '2.0',
    '+2',
    ' 3 ',
    '1e1',
    '0x2',
    'NaN',
    '٣',
    '12 ',
    '--1',
    '-0',
  ),
  fc.string({ maxLength: 5 }),
)

function texts({ schema }: QuestionField): fc.Arbitrary<string> {
  return Array.isArray(schema.enum) ? fc.constantFrom(...schema.enum, 'other', '') : count
}

/** The terms of a request. */
const given = fc.record<Record<string, string>>(
  Object.fromEntries(TERM_FIELDS.map((field) => [field.wire, texts(field)])),
  { requiredKeys: TERM_FIELDS.filter(({ required }) => required).map(({ wire }) => wire) },
)

const read = (counts: Readonly<Record<string, string>>) => readQuestion({ flightId: ID, ...counts })

it('readQuestion reads and rejects the same terms as the sandbox', () => {
  fc.assert(
    fc.property(given, (counts) => {
      const theirs = sandboxReadTerms(counts)
      if ('brokenRule' in theirs) {
        expect(() => read(counts)).toThrow(ProblemError)
        return
      }
      const { flightId, returnFlightId, passengers, ...others } = read(counts)
      expect({ ...passengers, ...others }).toEqual(theirs.terms)
    }),
    { numRuns: 2_000 },
  )
})

it('ignoredTerms names only counts that have the same effect as 0', () => {
  fc.assert(
    fc.property(given, (counts) => {
      for (const name of ignoredTerms(counts)) {
        const zero = { ...counts, [name]: '0' }
        expect(sandboxReadTerms(zero)).toEqual(sandboxReadTerms(counts))
      }
    }),
    { numRuns: 500 },
  )
})

it.each([
  [5, '"on-demand";q=10;w=5'],
  [1, '"on-demand";q=2;w=5'],
  [0.1, '"on-demand";q=1;w=25'],
])('the quota of a budget of %s a second is stated as %s', (requestsPerSecond, policy) => {
  expect(onDemandPolicy(requestsPerSecond)).toBe(policy)
})
