import { describe, expect, it } from 'vitest'
import type { DecisionRules } from '../../src/fares/decide/confirmations.ts'
import type { MassContext } from '../../src/fares/decide/count-contradiction.ts'
import { type Decision, decide } from '../../src/fares/decide/decide.ts'
import { initialState } from '../../src/fares/decide/fare-state.ts'
import type { LegObservation } from '../../src/upstream/observation.ts'
import {
  at,
  available,
  CALM,
  eur,
  flight,
  observation,
  RULES,
  UNAVAILABLE,
  unknown,
} from './answers.ts'

type Asked = readonly [seconds: number, outbound: LegObservation, back?: LegObservation]

/** Decides one answer after the other. Returns the last decision, and every change on the way. */
function decideAll(
  story: readonly Asked[],
  { masses = CALM.masses, ...rules }: Partial<DecisionRules & MassContext> = {},
) {
  let state = initialState(story[0]?.[2] !== undefined)
  const decisions: Decision[] = story.map(([seconds, outbound, back]) => {
    const input = { askedAt: at(seconds), observation: observation(outbound, back ?? null) }
    const decision = decide(state, input, { ...RULES, ...rules }, { ...CALM, masses })
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
  it('the interval of a loss runs from the last check before it to the first that showed it', () => {
    const { change } = decideAll([
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

  it('an interval begins with a check that showed every leg', () => {
    const { change } = decideAll([
      [0, available(), available()],
      [60, available(), unknown()],
      [120, UNAVAILABLE, available()],
      [140, UNAVAILABLE, available()],
    ])

    expect(change).toMatchObject({ lastGoodCheckAt: iso(0), detectedAt: iso(120) })
  })

  it('the interval begins again where a contradicted leg was shown again', () => {
    const { change } = decideAll([
      [0, available()],
      [60, UNAVAILABLE],
      [80, available()],
      [140, UNAVAILABLE],
      [160, UNAVAILABLE],
    ])

    expect(change).toMatchObject({ lastGoodCheckAt: iso(80), detectedAt: iso(140) })
  })

  it('an interval has no beginning where nothing was believed', () => {
    const { change } = decideAll([
      [0, UNAVAILABLE],
      [20, available()],
    ])

    expect(change).toMatchObject({
      kind: 'became_available',
      lastGoodCheckAt: null,
      detectedAt: iso(20),
    })
  })

  it('the interval of a price begins where the price was last read', () => {
    const { change } = decideAll([
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

  it('the interval of a confirmed price ends with the first answer that showed it', () => {
    const { changes } = decideAll([
      [0, available()],
      [60, available({ price: eur('300.00') })],
      [80, available({ price: eur('300.00') })],
    ])

    expect(changes.slice(1)).toMatchObject([
      { kind: 'price_changed', lastGoodCheckAt: iso(0), detectedAt: iso(60) },
    ])
  })

  it('another flight that returns in place of a sold-out one has the interval of that return', () => {
    const { changes } = decideAll([
      [0, available()],
      [60, UNAVAILABLE],
      [80, UNAVAILABLE],
      [140, OTHER],
      [200, UNAVAILABLE],
      [260, OTHER],
      [265, OTHER],
    ])

    expect(changes.slice(2)).toMatchObject([
      { kind: 'became_available', lastGoodCheckAt: iso(200), detectedAt: iso(260) },
    ])
  })

  it('the interval of a pair that became bookable ends with the first complete answer that shows a gain', () => {
    const { change } = decideAll([
      [0, UNAVAILABLE, UNAVAILABLE],
      [20, UNAVAILABLE, UNAVAILABLE],
      [60, available(), unknown()],
      [80, unknown(), available()],
      [100, available(), available()],
      [105, available(), available()],
    ])

    expect(change).toMatchObject({
      kind: 'became_available',
      lastGoodCheckAt: iso(20),
      detectedAt: iso(100),
    })
  })

  it('the interval of a pair that lost both legs ends with the first loss', () => {
    const { change } = decideAll([
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

describe('before and after of a change', () => {
  it('a change shows the sum of the legs and each leg, before and after', () => {
    const { change } = decideAll([
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

  it('a loss shows which flight sold out, and nothing of it afterwards', () => {
    const { change } = decideAll([
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

  it('a change shows both legs, and no sum, where they are not in one currency', () => {
    const dollars = available({ price: { amount: '50.00', currency: 'USD' } })
    const { change } = decideAll([
      [0, available(), available()],
      [60, available(), dollars],
      [80, available(), dollars],
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

  it('an equal price and itinerary in other words change nothing', () => {
    const shortened = flight({ price: { amount: '100', currency: 'EUR' } })
    const renamed = { ...shortened, flight: { ...shortened.flight, airline: 'Tramontana Air' } }

    const { state, changes } = decideAll([
      [0, available()],
      [60, { kind: 'available', flight: renamed }],
    ])

    expect(changes).toHaveLength(1)
    expect(state.belief.outbound).toMatchObject({ price: eur('100.00'), flight: { airline: 'T1' } })
  })
})

function shownOf({ price, identity, itinerary, flight: summary }: ReturnType<typeof flight>) {
  return { price, identity, itinerary, flight: summary }
}

describe('a decision', () => {
  it('a decision has the outcome of each leg for the metrics', () => {
    const { last } = decideAll([
      [0, available(), available()],
      [60, OTHER, unknown('http_5xx')],
    ])

    expect(last?.outcome).toEqual({
      outbound: 'unknown:identity_mismatch',
      return: 'unknown:http_5xx',
    })
    expect(last?.good).toBe(false)
  })

  it('an answer without a leg says nothing of that leg', () => {
    const both = decide(
      initialState(true),
      { askedAt: at(0), observation: observation(available(), null) },
      RULES,
      CALM,
    )

    expect(both.outcome).toEqual({ outbound: 'available', return: 'unknown:id_missing' })
    expect(both.good).toBe(false)
  })

  it('a leg outside the question is ignored', () => {
    const one = decide(
      initialState(false),
      { askedAt: at(0), observation: observation(available(), UNAVAILABLE) },
      RULES,
      CALM,
    )

    expect(one.outcome).toEqual({ outbound: 'available', return: null })
    expect(one.state.belief.return).toBeNull()
  })

  it('the state keeps when the fare was first bookable', () => {
    const half = decideAll([[0, available(), unknown()]])
    const whole = decideAll([
      [0, available(), unknown()],
      [60, available(), available()],
      [120, available(), available()],
      [180, UNAVAILABLE, available()],
      [200, UNAVAILABLE, available()],
    ])

    expect(half.state.everAvailableAt).toBeNull()
    expect(whole.state.everAvailableAt).toBe(iso(60))
  })

  it('a decision names the kind of change that a mass holds, and nothing else', () => {
    const mass = { masses: new Set(['became_unavailable'] as const) }

    expect(
      decideAll(
        [
          [0, available()],
          [60, UNAVAILABLE],
        ],
        mass,
      ).state.held,
    ).toBe('became_unavailable')
    expect(decideAll([[0, UNAVAILABLE]], mass).state.held).toBeNull()
    expect(
      decideAll(
        [
          [0, available()],
          [60, unknown()],
        ],
        mass,
      ).state.held,
    ).toBeNull()
    expect(
      decideAll([
        [0, available()],
        [60, UNAVAILABLE],
      ]).state.held,
    ).toBeNull()
  })

  it.each([
    ['a day after a held record the return to what preceded it waits for no mass', 86_000, null],
    [
      'later than a day after a held record its return waits like any gain',
      87_000,
      'became_available',
    ],
  ] as const)('%s', (_, seconds, held) => {
    const loss = new Set(['became_unavailable'] as const)
    const lost = decideAll(
      [
        [0, available()],
        [60, UNAVAILABLE],
        [660, UNAVAILABLE],
      ],
      {
        masses: loss,
      },
    )
    const answer = { askedAt: at(660 + seconds), observation: observation(available()) }
    const masses = new Set(['became_available'] as const)

    const { state } = decide(lost.state, answer, RULES, { ...CALM, masses })

    expect(lost.change?.heldSince).toBe(iso(60))
    expect(state.held).toBe(held)
  })

  it('decide does not modify the state it is given', () => {
    const state = initialState(true)
    const copy = structuredClone(state)

    decide(
      state,
      { askedAt: at(0), observation: observation(available(), UNAVAILABLE) },
      RULES,
      CALM,
    )

    expect(state).toEqual(copy)
  })
})
