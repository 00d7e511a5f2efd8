import fc from 'fast-check'
import { WATCH_PRIORITIES } from '../../src/platform/base/kinds.ts'
import type { Money } from '../../src/platform/base/money.ts'
import { nameFault } from '../../src/platform/base/text.ts'
import {
  type FieldValue,
  QUESTION_FIELDS,
  type QuestionField,
  questionFrom,
} from '../../src/upstream/question.ts'
import type { Intents } from '../../src/watches/rows/settings.ts'
import type { WatchEntry } from '../../src/watches/rows/watch-row.ts'
import { anyText } from '../support/any-text.ts'

/** Texts that file formats may misread. */
const NASTY = [
  'null',
  '~',
  'true',
  '0012',
  '1e3',
  '- a',
  'a: b',
  '#a',
  "'=1",
  '=1+1',
  '"',
  "'",
  '{a}',
  '[a]',
  '*a',
  '&a',
  '!a',
  '%a',
  '@a',
  '`a',
  '|',
  '>',
  '?',
  '-',
  '---',
  '...',
  'a,b',
  'a;b',
  '\u2028a',
  'a\u2028b',
  '\u202ea',
  '👩‍👩‍👧',
  '__proto__',
  '<<',
  '\ufffd',
  'a\u200b',
  '2026-01-01',
  'é',
]

export const name = () =>
  fc
    .oneof(
      fc.constantFrom(...NASTY),
      fc.string({ unit: 'grapheme', minLength: 1, maxLength: 12 }),
      anyText({ minLength: 1, maxLength: 8 }),
    )
    .filter((text) => nameFault(text) === undefined)

const threshold = () =>
  fc.option(
    fc.tuple(fc.nat(99_999), fc.nat(9_999)).map(([whole, part]) => {
      const fraction = String(part).padStart(4, '0').replace(/0+$/, '')
      return fraction === '' ? String(whole) : `${whole}.${fraction}`
    }),
  )

const money = (): fc.Arbitrary<Money> =>
  fc.record({
    amount: fc.integer({ min: 100, max: 9_999 }).map((cents) => (cents / 100).toFixed(2)),
    currency: fc.constantFrom('EUR', 'USD'),
  })

const drop = () =>
  fc.oneof(
    fc.record({ paid: money(), amount: fc.constantFrom('0.01', '0.99') }),
    fc.record({ paid: money(), percent: fc.constantFrom('5', '12.5') }),
  )

const intents = (): fc.Arbitrary<Intents | null> =>
  fc
    .record(
      { priceBelow: money(), priceDrop: drop(), newLowDays: fc.integer({ min: 2, max: 365 }) },
      { requiredKeys: [] },
    )
    .map((wanted) => (Object.keys(wanted).length === 0 ? null : wanted))

const date = () =>
  fc
    .date({ min: new Date('2090-01-01'), max: new Date('2099-12-31'), noInvalidDate: true })
    .map((day) => day.toISOString().slice(0, 10))

/** There are few flights, so that entries share questions. */
function values({ column, schema, required }: QuestionField): fc.Arbitrary<FieldValue> {
  if (column === 'flight_id') return fc.oneof(fc.constantFrom('101', '102'), name())
  if (column === 'return_flight_id') return fc.option(fc.oneof(fc.constantFrom('201'), name()))
  if (Array.isArray(schema.enum)) return fc.constantFrom(...schema.enum)
  return fc.integer({ min: required ? 1 : 0, max: column.endsWith('infants') ? 1 : 12 })
}

const question = () =>
  fc
    .record(Object.fromEntries(QUESTION_FIELDS.map((field) => [field.column, values(field)])))
    .map((given) => questionFrom(({ column }) => given[column] ?? null))
    .filter(({ flightId, returnFlightId }) => flightId !== returnFlightId)

const names = () => ({
  list: fc.oneof(fc.constantFrom('summer', 'winter'), name()),
  reference: name(),
})

const code = () => fc.constantFrom('PMI', 'OSL', 'JFK')

const ofRoute = (): fc.Arbitrary<WatchEntry> =>
  fc.record({
    ...names(),
    question: fc.constant(null),
    priceThresholdAmount: fc.constant(null),
    priceThresholdPercent: fc.constant(null),
    departsOn: fc.constant(null),
    minIntervalSeconds: fc.constant(null),
    priority: fc.constant('normal' as const),
    maxDelaySeconds: fc.constant(null),
    intents: fc.constant(null),
    route: fc.record(
      { departure: code(), destination: code(), eitherDirection: fc.constant(true) },
      { requiredKeys: ['departure', 'destination'] },
    ),
  })

const ofFare = (): fc.Arbitrary<WatchEntry> =>
  fc.record({
    ...names(),
    question: question(),
    route: fc.constant(null),
    priceThresholdAmount: threshold(),
    priceThresholdPercent: threshold(),
    departsOn: fc.option(date()),
    minIntervalSeconds: fc.option(fc.integer({ min: 1, max: 2_592_000 })),
    priority: fc.constantFrom(...WATCH_PRIORITIES),
    maxDelaySeconds: fc.constantFrom(null, 2_592_000),
    intents: intents(),
  })

/** A valid entry. */
export const entry = (): fc.Arbitrary<WatchEntry> =>
  fc.oneof({ arbitrary: ofFare(), weight: 5 }, ofRoute())

/** Valid entries with unique names. */
export const entries = (maxLength = 20): fc.Arbitrary<WatchEntry[]> =>
  fc.uniqueArray(entry(), {
    selector: ({ list, reference }) => JSON.stringify([list, reference]),
    maxLength,
  })
