import { describe, expect, it } from 'vitest'
import type { MassContext } from '../../src/fares/decide/count-contradiction.ts'
import { decide } from '../../src/fares/decide/decide.ts'
import { type FareState, initialState } from '../../src/fares/decide/fare-state.ts'
import type { LegObservation } from '../../src/upstream/observation.ts'
import { at, available, CALM, eur, observation, RULES } from './answers.ts'

type Asked = readonly [seconds: number, leg: LegObservation]

/** Decides one answer. Returns what it records. */
function decideOne(fare: { state: FareState }, [seconds, leg]: Asked, masses = CALM.masses) {
  const answer = { askedAt: at(seconds), observation: observation(leg) }
  const { state, changes } = decide(fare.state, answer, RULES, { ...CALM, masses })
  fare.state = state
  return changes
}

describe('after a revert', () => {
  /** The records of answers to a fare that was believed available, and reverted. */
  function recorded(legs: readonly LegObservation[], masses: MassContext['masses'] = CALM.masses) {
    const fare = { state: initialState(false) }
    decideOne(fare, [0, available()])
    fare.state = { ...fare.state, reverted: true }
    return legs.flatMap((leg, i) => decideOne(fare, [60 * (i + 1), leg], masses))
  }

  it.each([
    ['no readable price', available({ price: null })],
    ['an odd price', available({ odd: true })],
  ])(
    'an answer with %s that is otherwise the same records nothing, and neither does the next',
    (_, leg) => {
      expect(recorded([leg, available()])).toEqual([])
    },
  )

  it('nor does the same answer while prices are a mass', () => {
    expect(recorded([available(), available()], new Set(['price_changed']))).toEqual([])
  })
})

describe('a price where none is believed', () => {
  it('is not recorded for one answer', () => {
    const fare = { state: initialState(false) }
    const story: Asked[] = [
      [0, available({ price: null })],
      [60, available({ price: eur('9000.00') })],
      [120, available()],
      [140, available()],
    ]
    const changes = story.flatMap((asked) => decideOne(fare, asked))

    expect(changes.map(({ kind, after }) => [kind, after.price?.amount])).toEqual([
      ['became_available', undefined],
      ['price_changed', '100.00'],
    ])
  })
})
