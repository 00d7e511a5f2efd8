import fc from 'fast-check'
import type { UnknownReason } from '../../src/base/kinds.ts'
import type { LegObservation } from '../../src/upstream/observation.ts'
import { type Decision, decide } from '../../src/verify/decide/decide.ts'
import type { DecisionRules } from '../../src/verify/decide/decide-leg.ts'
import { type FareState, initialState } from '../../src/verify/decide/fare-state.ts'
import { at, available, eur, observation, RULES, UNAVAILABLE, unknown } from './answers.ts'
import type { LegAnswer } from './naive-model.ts'

/** One check of a random story. */
export interface Situation {
  readonly gapSeconds: number
  readonly outbound: LegObservation
  readonly return: LegObservation | null
  readonly held: boolean
}

const anyReason = fc.constantFrom<UnknownReason>('timeout', 'http_4xx', 'malformed', 'id_missing')
const anyUnknown = anyReason.map(unknown)
const anyPrice = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom(eur('100.00'), eur('120.00')) },
  {
    weight: 3,
    arbitrary: fc.constantFrom(
      eur('49.99'),
      eur('150.01'),
      eur('300.00'),
      { amount: '100.00', currency: 'USD' },
      null,
    ),
  },
)
const anyAvailable = fc
  .record({
    price: anyPrice,
    identity: fc.oneof(
      { weight: 6, arbitrary: fc.constant('T1 PMI-MAD') },
      { weight: 2, arbitrary: fc.constantFrom('L2 PMI-MAD', 'M3 PMI-MAD') },
    ),
    itinerary: fc.oneof(
      { weight: 5, arbitrary: fc.constant('10:00') },
      { weight: 1, arbitrary: fc.constant('12:00') },
    ),
  })
  .map(available)
const anyAnswer = fc.oneof(
  { weight: 5, arbitrary: anyAvailable },
  { weight: 4, arbitrary: fc.constant(UNAVAILABLE) },
  { weight: 2, arbitrary: anyUnknown },
)

function anySituation(hasReturn: boolean): fc.Arbitrary<Situation> {
  return fc.record({
    gapSeconds: fc.constantFrom(5, 12, 20, 60, 900),
    outbound: anyAnswer,
    return: hasReturn ? anyAnswer : fc.constant(null),
    held: fc.oneof(
      { weight: 5, arbitrary: fc.constant(false) },
      { weight: 1, arbitrary: fc.constant(true) },
    ),
  })
}

/** Stories of a fare with or without a return flight, of the same kind throughout. */
export const anyStory: fc.Arbitrary<Situation[]> = fc
  .boolean()
  .chain((hasReturn) => fc.array(anySituation(hasReturn), { minLength: 1, maxLength: 30 }))

export const anyCounts = fc.record({
  lossConfirmations: fc.integer({ min: 1, max: 3 }),
  gainConfirmations: fc.integer({ min: 1, max: 3 }),
})

/** One decided check of a story. */
export interface Played {
  readonly situation: Situation
  readonly askedAt: Date
  readonly before: FareState
  readonly decision: Decision
}

export function play(story: readonly Situation[], counts: Partial<DecisionRules> = {}): Played[] {
  let state = initialState(story[0]?.return != null)
  let seconds = 0
  return story.map((situation) => {
    seconds += situation.gapSeconds
    const askedAt = at(seconds)
    const before = state
    const input = { askedAt, observation: observation(situation.outbound, situation.return) }
    const decision = decide(before, input, {
      ...RULES,
      ...counts,
      holds: counts.holds ?? (situation.held ? ['became_unavailable'] : []),
    })
    state = decision.state
    return { situation, askedAt, before, decision }
  })
}

export function answerOf(answer: LegObservation): LegAnswer {
  if (answer.kind === 'unknown') return 'nothing'
  if (answer.kind === 'unavailable') return 'unavailable'
  const { price, identity, itinerary } = answer.flight
  return { price, identity, itinerary }
}
