import fc from 'fast-check'
import type { LegObservation } from '../../src/upstream/observation.ts'
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
  stranger: available('100.00', { identity: 'IB|1|PMI-MAD|2027-01-10' }),
  gone,
  silent,
} as const satisfies Record<string, LegObservation>

/** What the upstream says of a leg, in a word: a failing script must be short enough to be read. */
type Word = keyof typeof WORDS

/** What the upstream says of a fare; the second word counts where the question has a return flight. */
export type Answer = readonly [Word, Word]

export function legsOf(
  answers: readonly Answer[],
  question: number,
): { outbound: LegObservation; back: LegObservation | null } {
  const [outbound, back] = answers[question] ?? (['silent', 'silent'] as const)
  const hasReturn = QUESTIONS[question]?.returnFlightId !== null
  return { outbound: WORDS[outbound], back: hasReturn ? WORDS[back] : null }
}

/** What becomes of an answer: it is recorded, its transaction is rolled back, its process is killed before it. */
export type Fate = 'recorded' | 'rolled back' | 'killed'

/** Numbers choose among what there is at that moment, counted round. */
export type Step =
  /** A check of one fare from end to end, with nothing in between. */
  | { readonly do: 'check'; readonly question: number; readonly answers: readonly Answer[] }
  /** Leases and intervals of these fares are over, and the schedule is asked, maybe by two processes at once. */
  | { readonly do: 'dispatch'; readonly due: readonly boolean[]; readonly twice: boolean }
  /** A job of a claim that was ever made asks, maybe for the second time, or too late for its slots. */
  | { readonly do: 'ask'; readonly claim: number; readonly late: boolean }
  | { readonly do: 'ask on demand'; readonly question: number }
  /** One of the jobs that wait gets its answers. */
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

/**
 * As many steps as there may be: each records one check of each fare at most, and every third loses a fare at most.
 * From twenty losses on the guard against mass losses would hold them.
 */
const MOST_STEPS = 50

const anyWord: fc.Arbitrary<Word> = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom<Word>('100', '103', '105', '111') },
  { weight: 6, arbitrary: fc.constant<Word>('gone') },
  { weight: 2, arbitrary: fc.constantFrom<Word>('silent', 'retimed', 'stranger') },
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
      // The last claim is the likeliest to hold its fares still.
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
