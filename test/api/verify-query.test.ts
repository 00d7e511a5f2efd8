import fc from 'fast-check'
import { expect, it } from 'vitest'
import { readMix as sandboxReadMix } from '../../sandbox/world/passengers.ts'
import {
  COUNT_NAMES,
  ignoredCounts,
  onDemandPolicy,
  readMix,
} from '../../src/fares/on-demand/verify-operations.ts'
import { ProblemError } from '../../src/platform/http/problems.ts'

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
  ),
  fc.string({ maxLength: 5 }),
)

/** The counts of a request. Both counts of adults are required. */
const given = fc.record(Object.fromEntries(COUNT_NAMES.map((name) => [name, count])), {
  requiredKeys: ['residents[adults]', 'nonResidents[adults]'],
})

it('readMix reads and rejects the same mixes as the sandbox', () => {
  fc.assert(
    fc.property(given, (counts) => {
      const theirs = sandboxReadMix(counts)
      if ('mix' in theirs) expect(readMix(counts)).toEqual(theirs.mix)
      else expect(() => readMix(counts)).toThrow(ProblemError)
    }),
    { numRuns: 2_000 },
  )
})

it('ignoredCounts names only counts that have the same effect as 0', () => {
  fc.assert(
    fc.property(given, (counts) => {
      for (const name of ignoredCounts(counts)) {
        const zero = { ...counts, [name]: '0' }
        expect(sandboxReadMix(zero)).toEqual(sandboxReadMix(counts))
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
