import fc from 'fast-check'
import { type Decision, type DecisionRules, decide } from '../../src/fares/decide.ts'
import type { MassContext } from '../../src/fares/mass.ts'
import { type FareState, initialState } from '../../src/fares/state.ts'
import type { UnknownReason } from '../../src/platform/base/kinds.ts'
import type { LegObservation } from '../../src/upstream/observation.ts'
import {
  answer,
  at,
  available,
  CALM,
  eur,
  massesOf,
  RULES,
  returning,
  siteNamed,
  soldBy,
  UNAVAILABLE,
  unknown,
} from './answers.ts'

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
    site: fc.oneof(
      { weight: 6, arbitrary: fc.constant(siteNamed('One')) },
      { weight: 3, arbitrary: fc.constantFrom(siteNamed('Two'), siteNamed('Three'), null) },
    ),
  })
  .map(({ site, ...leg }) => soldBy(available(leg), site))
const anyAnswer = fc.oneof(
  { weight: 5, arbitrary: anyAvailable },
  { weight: 4, arbitrary: fc.constant(UNAVAILABLE) },
  { weight: 2, arbitrary: anyUnknown },
)

function anySituation(hasReturn: boolean): fc.Arbitrary<Situation> {
  return fc.record({
    gapSeconds: fc.constantFrom(5, 12, 20, 60, 900),
    outbound: anyAnswer,
    return: hasReturn ? anyAnswer.map(returning) : fc.constant(null),
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

/** Losses are a mass while a situation is held. */
const MASS_OF_LOSSES: MassContext = { ...CALM, masses: massesOf(['became_unavailable']) }

/** One decided check of a story. */
export interface Played {
  readonly situation: Situation
  readonly askedAt: Date
  readonly before: FareState
  readonly decision: Decision
}

/** Plays a story; `context` of every check, or by its situation. */
export function play(
  story: readonly Situation[],
  { context, ...counts }: Partial<DecisionRules> & { readonly context?: MassContext } = {},
): Played[] {
  let state = initialState(story[0]?.return != null)
  let seconds = 0
  return story.map((situation) => {
    seconds += situation.gapSeconds
    const askedAt = at(seconds)
    const before = state
    const shown = answer(askedAt, situation.outbound, situation.return)
    const around = context ?? (situation.held ? MASS_OF_LOSSES : CALM)
    const decision = decide(before, shown, { ...RULES, ...counts }, around)
    state = decision.state
    return { situation, askedAt, before, decision }
  })
}
