import { describe, expect, it } from 'vitest'
import type { LegObservation } from '../../src/upstream/observation.ts'
import { type Decision, decide } from '../../src/verify/decide/decide.ts'
import type { DecisionRules } from '../../src/verify/decide/decide-leg.ts'
import { initialState } from '../../src/verify/decide/fare-state.ts'
import { at, available, eur, flight, observation, RULES, UNAVAILABLE, unknown } from './answers.ts'

type Asked = readonly [seconds: number, outbound: LegObservation, back?: LegObservation]

/** Decides one answer after the other; the last decision, and every change on the way. */
function tell(story: readonly Asked[], rules: Partial<DecisionRules> = {}) {
  let state = initialState(story[0]?.[2] !== undefined)
  const decisions: Decision[] = story.map(([seconds, outbound, back]) => {
    const input = { askedAt: at(seconds), observation: observation(outbound, back ?? null) }
    const decision = decide(state, input, { ...RULES, ...rules })
    state = decision.state
    return decision
  })
  const changes = decisions.flatMap((decision) => decision.changes)
  return { state, last: decisions.at(-1), changes, change: changes.at(-1) }
}

function iso(seconds: number): string {
  return at(seconds).toISOString()
}

const OTHER = available({ identity: 'L2 PMI-MAD 2026-05-01', price: eur('300.00') })

describe('the interval of a change', () => {
  it('runs from the last check before a loss to the first answer that told it', () => {
    const { change } = tell([
      [0, available()],
      [60, available()],
      [120, UNAVAILABLE],
      [140, UNAVAILABLE],
    ])

    expect(change).toMatchObject({
      kind: 'became_unavailable',
      lastGoodCheckAt: iso(60),
      detectedAt: iso(120),
    })
  })

  it('begins with a check that told of every leg', () => {
    const { change } = tell([
      [0, available(), available()],
      [60, available(), unknown()],
      [120, UNAVAILABLE, available()],
      [140, UNAVAILABLE, available()],
    ])

    expect(change).toMatchObject({ lastGoodCheckAt: iso(0), detectedAt: iso(120) })
  })

  it('begins anew where a doubted leg showed itself again', () => {
    const { change } = tell([
      [0, available()],
      [60, UNAVAILABLE],
      [80, available()],
      [140, UNAVAILABLE],
      [160, UNAVAILABLE],
    ])

    expect(change).toMatchObject({ lastGoodCheckAt: iso(80), detectedAt: iso(140) })
  })

  it('has no beginning where nothing was believed', () => {
    const { change } = tell([
      [0, UNAVAILABLE],
      [20, available()],
    ])

    expect(change).toMatchObject({
      kind: 'became_available',
      lastGoodCheckAt: null,
      detectedAt: iso(20),
    })
  })

  it('of a price begins where it was last read', () => {
    const { change } = tell([
      [0, available()],
      [60, available({ price: null })],
      [120, available({ price: eur('120.00') })],
    ])

    expect(change).toMatchObject({
      kind: 'price_changed',
      lastGoodCheckAt: iso(0),
      detectedAt: iso(120),
    })
  })

  it('of another flight that comes back for one that was sold out is that of its coming back', () => {
    const { changes } = tell([
      [0, available()],
      [60, UNAVAILABLE],
      [80, UNAVAILABLE],
      [140, OTHER],
      [200, UNAVAILABLE],
      [260, OTHER],
    ])

    expect(changes.slice(2)).toMatchObject([
      { kind: 'became_available', lastGoodCheckAt: iso(200), detectedAt: iso(260) },
    ])
  })

  it('of a pair that became bookable ends with the first sight of its last leg', () => {
    const { change } = tell(
      [
        [0, UNAVAILABLE, UNAVAILABLE],
        [20, UNAVAILABLE, UNAVAILABLE],
        [60, available(), unknown()],
        [80, unknown(), available()],
        [100, available(), available()],
      ],
      { gainConfirmations: 2 },
    )

    expect(change).toMatchObject({
      kind: 'became_available',
      lastGoodCheckAt: iso(20),
      detectedAt: iso(80),
    })
  })

  it('of a pair that both legs left ends with the first of their losses', () => {
    const { change } = tell([
      [0, available(), available()],
      [60, UNAVAILABLE, unknown()],
      [80, unknown(), UNAVAILABLE],
      [100, UNAVAILABLE, UNAVAILABLE],
    ])

    expect(change).toMatchObject({
      kind: 'became_unavailable',
      lastGoodCheckAt: iso(0),
      detectedAt: iso(60),
    })
  })
})

describe('what a change shows', () => {
  it('is the sum of the legs and each of them, before and after', () => {
    const { change } = tell([
      [0, available(), available({ price: eur('50.50') })],
      [60, available({ price: eur('120.25') }), available({ price: eur('50.50') })],
    ])

    expect(change?.before).toMatchObject({
      price: eur('150.50'),
      outbound: { price: eur('100.00') },
    })
    expect(change?.after).toEqual({
      pair: 'bookable',
      price: eur('170.75'),
      outbound: { belief: 'available', ...shownOf(flight({ price: eur('120.25') })) },
      return: { belief: 'available', ...shownOf(flight({ price: eur('50.50') })) },
    })
  })

  it('is which flight sold out, and of one that is gone nothing more', () => {
    const { change } = tell([
      [0, available()],
      [60, UNAVAILABLE],
      [80, UNAVAILABLE],
    ])

    expect(change?.before).toMatchObject({
      pair: 'bookable',
      outbound: shownOf(flight({ price: eur('100.00') })),
    })
    expect(change?.after).toEqual({
      pair: 'not_bookable',
      price: null,
      outbound: {
        belief: 'unavailable',
        price: null,
        identity: null,
        itinerary: null,
        flight: null,
      },
      return: null,
    })
  })

  it('is both legs where they are not in one currency', () => {
    const dollars = available({ price: { amount: '50.00', currency: 'USD' } })
    const { change } = tell([
      [0, available(), available()],
      [60, available(), dollars],
    ])

    expect(change).toMatchObject({
      kind: 'price_changed',
      after: {
        price: null,
        outbound: { price: eur('100.00') },
        return: { price: { amount: '50.00', currency: 'USD' } },
      },
    })
  })

  it('is no new text for what is the same', () => {
    const shortened = flight({ price: { amount: '100', currency: 'EUR' } })
    const renamed = { ...shortened, flight: { ...shortened.flight, airline: 'Tramontana Air' } }

    const { state, changes } = tell([
      [0, available()],
      [60, { kind: 'available', flight: renamed }],
    ])

    expect(changes).toHaveLength(1)
    expect(state.outbound).toMatchObject({ price: eur('100.00'), flight: { airline: 'T1' } })
  })
})

function shownOf({ price, identity, itinerary, flight: summary }: ReturnType<typeof flight>) {
  return { price, identity, itinerary, flight: summary }
}

describe('a decision', () => {
  it('tells the metrics what each leg was', () => {
    const { last } = tell([
      [0, available(), available()],
      [60, OTHER, unknown('http_5xx')],
    ])

    expect(last?.outcome).toEqual({
      outbound: 'unknown:identity_mismatch',
      return: 'unknown:http_5xx',
    })
    expect(last?.good).toBe(false)
  })

  it('takes an answer that leaves a leg out for one that says nothing of it', () => {
    const both = decide(
      initialState(true),
      { askedAt: at(0), observation: observation(available(), null) },
      RULES,
    )

    expect(both.outcome).toEqual({ outbound: 'available', return: 'unknown:id_missing' })
    expect(both.good).toBe(false)
  })

  it('takes no notice of a leg that was not asked for', () => {
    const one = decide(
      initialState(false),
      { askedAt: at(0), observation: observation(available(), UNAVAILABLE) },
      RULES,
    )

    expect(one.outcome).toEqual({ outbound: 'available', return: null })
    expect(one.state.return).toBeNull()
  })

  it('remembers when the fare was first bookable, and for good', () => {
    const half = tell([[0, available(), unknown()]])
    const whole = tell([
      [0, available(), unknown()],
      [60, available(), available()],
      [120, available(), available()],
      [180, UNAVAILABLE, available()],
      [200, UNAVAILABLE, available()],
    ])

    expect(half.state.everAvailableAt).toBeNull()
    expect(whole.state.everAvailableAt).toBe(iso(60))
  })

  it('tells of a loss that an incident holds, and of nothing else', () => {
    const hold = { holdLosses: true }

    expect(tell([[0, UNAVAILABLE]], hold).last?.heldLoss).toBe(true)
    expect(tell([[0, available()]], hold).last?.heldLoss).toBe(false)
    expect(tell([[0, unknown()]], hold).last?.heldLoss).toBe(false)
    expect(tell([[0, UNAVAILABLE]]).last?.heldLoss).toBe(false)
  })

  it('leaves the state it was given as it was', () => {
    const state = initialState(true)
    const copy = structuredClone(state)

    decide(state, { askedAt: at(0), observation: observation(available(), UNAVAILABLE) }, RULES)

    expect(state).toEqual(copy)
  })
})
