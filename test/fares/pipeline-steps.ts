import fc from 'fast-check'
import type { LegObservation } from '../../src/upstream/observation.ts'
import { returning, siteNamed, soldBy } from './answers.ts'
import { available, gone, silent } from './fare-fixtures.ts'

/** The questions of a world: the second one has a return flight. */
export const QUESTIONS = [
  { flightId: 'F1', returnFlightId: null },
  { flightId: 'F2', returnFlightId: 'R2' },
  { flightId: 'F3', returnFlightId: null },
] as const

/** A watch of one of two resellers; thresholds are decimal text. */
export interface WatchPlan {
  readonly reseller: 'ana' | 'ben'
  readonly question: number
  readonly amount: string | null
  readonly percent: string | null
}

const WORDS = {
  '100': available('100.00'),
  '103': available('103.00'),
  '105': available('105.00'),
  '111': available('111.00'),
  retimed: available('100.00', { itinerary: '09:30|3900' }),
  sold: soldBy(available('100.00'), siteNamed('One')),
  resold: soldBy(available('105.00'), siteNamed('Two')),
  another: available('100.00', { identity: 'IB|1|PMI-MAD|2027-01-10' }),
  gone,
  silent,
} as const satisfies Record<string, LegObservation>

/** The answer for a leg as one word: a failing script must be short enough to read. */
type Word = keyof typeof WORDS

/** The answer for a fare. The second word is the answer for the return flight, if the question has one. */
export type Answer = readonly [Word, Word]

export function legsOf(
  answers: readonly Answer[],
  question: number,
): { outbound: LegObservation; back: LegObservation | null } {
  const [outbound, back] = answers[question] ?? (['silent', 'silent'] as const)
  const hasReturn = QUESTIONS[question]?.returnFlightId !== null
  return { outbound: WORDS[outbound], back: hasReturn ? returning(WORDS[back]) : null }
}

/** The fate of an answer: it is recorded, its transaction is rolled back, or its process is killed before. */
export type Fate = 'recorded' | 'rolled back' | 'killed'

/** Numbers choose among the items that exist at that moment, modulo their count. */
export type Step =
  /** Checks of one fare from end to end with the same answer, and nothing in between. */
  | {
      readonly do: 'check'
      readonly question: number
      readonly answers: readonly Answer[]
      readonly times: number
    }
  /** Leases and intervals of these fares end, and one or two processes dispatch. */
  | { readonly do: 'dispatch'; readonly due: readonly boolean[]; readonly twice: boolean }
  /** The job of any claim so far makes its calls, perhaps for the second time, or too late for its slots. */
  | { readonly do: 'ask'; readonly claim: number; readonly late: boolean }
  | { readonly do: 'ask on demand'; readonly question: number }
  /** One of the waiting jobs gets its answers. */
  | {
      readonly do: 'answer'
      readonly job: number
      readonly answers: readonly Answer[]
      readonly fate: Fate
    }
  | { readonly do: 'pause' | 'resume'; readonly watch: number }
  | { readonly do: 'watch'; readonly plan: WatchPlan }

export interface Script {
  readonly watches: readonly WatchPlan[]
  readonly steps: readonly Step[]
  readonly counts: { readonly lossConfirmations: number; readonly gainConfirmations: number }
}

/** The most steps of a script: the first answer is still fresh after the last one. */
const MOST_STEPS = 25

const anyWord: fc.Arbitrary<Word> = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom<Word>('100', '103', '105', '111') },
  { weight: 6, arbitrary: fc.constant<Word>('gone') },
  { weight: 3, arbitrary: fc.constantFrom<Word>('sold', 'resold') },
  { weight: 2, arbitrary: fc.constantFrom<Word>('silent', 'retimed', 'another') },
)
const anyAnswer: fc.Arbitrary<Answer> = fc.tuple(anyWord, anyWord)
const forEach = <T>(arbitrary: fc.Arbitrary<T>) =>
  fc.array(arbitrary, { minLength: QUESTIONS.length, maxLength: QUESTIONS.length })

const anyWatch: fc.Arbitrary<WatchPlan> = fc.record({
  reseller: fc.constantFrom('ana' as const, 'ben' as const),
  question: fc.nat(QUESTIONS.length - 1),
  amount: fc.constantFrom(null, null, '5'),
  percent: fc.constantFrom(null, null, '2.5', '10'),
})

const anyStep: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      do: fc.constant('check' as const),
      question: fc.nat(QUESTIONS.length - 1),
      answers: forEach(anyAnswer),
      times: fc.integer({ min: 1, max: 6 }),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('dispatch' as const),
      due: forEach(fc.boolean()),
      twice: fc.boolean(),
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('ask' as const),
      // The last claim most likely still holds its fares.
      claim: fc.oneof(fc.constant(0), fc.nat(5)),
      late: fc.nat(9).map((n) => n === 0),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('ask on demand' as const),
      question: fc.nat(QUESTIONS.length - 1),
    }),
  },
  {
    weight: 8,
    arbitrary: fc.record({
      do: fc.constant('answer' as const),
      job: fc.nat(5),
      answers: forEach(anyAnswer),
      fate: fc.oneof(
        { weight: 7, arbitrary: fc.constant('recorded' as const) },
        { weight: 2, arbitrary: fc.constantFrom('rolled back' as const, 'killed' as const) },
      ),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constantFrom('pause' as const, 'resume' as const),
      watch: fc.nat(7),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('watch' as const), plan: anyWatch }) },
)

export const anyScript: fc.Arbitrary<Script> = fc.record({
  watches: fc.array(anyWatch, { minLength: 2, maxLength: 6 }),
  steps: fc.array(anyStep, { minLength: 1, maxLength: MOST_STEPS, size: 'max' }),
  counts: fc.record({
    lossConfirmations: fc.integer({ min: 2, max: 3 }),
    gainConfirmations: fc.integer({ min: 1, max: 2 }),
  }),
})
