import { describe, expect, it } from 'vitest'
import { type Decision, type DecisionRules, decide } from '../../src/fares/decide.ts'
import type { MassContext } from '../../src/fares/mass.ts'
import { heldKindOf, initialState, type StateRow, stateOfRow } from '../../src/fares/state.ts'
import type { LegObservation, Site } from '../../src/upstream/observation.ts'
import {
  answer,
  at,
  available,
  CALM,
  eur,
  flight,
  massesOf,
  RULES,
  returning,
  siteNamed,
  soldBy,
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
    const input = answer(at(seconds), outbound, back)
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

describe('legs that show the flight of the other', () => {
  const [there, back] = [available(), returning(available())]

  // Fault: Each leg shows the flight of the other.
  it('say nothing, however often', () => {
    const { last, changes } = decideAll([
      [0, there, back],
      ...[20, 60, 120].map((seconds): Asked => [seconds, back, there]),
    ])

    expect(changes).toHaveLength(1)
    expect(last?.good).toBe(false)
    expect(last?.outcome).toEqual({
      outbound: 'unknown:other_flight',
      return: 'unknown:other_flight',
    })
  })

  // Fault: Each leg shows the flight of the other.
  it('do not reopen a leg that is sold out', () => {
    const { state } = decideAll([
      [0, there, back],
      [20, there, UNAVAILABLE],
      [40, there, UNAVAILABLE],
      [600, there, there],
      [700, there, there],
      [800, there, there],
    ])

    expect(state.belief.pair).toBe('not_bookable')
  })

  it('say nothing of a leg that is sold out, nor that the other one is', () => {
    const { changes, last } = decideAll([
      [0, there, back],
      [20, UNAVAILABLE, back],
      [40, UNAVAILABLE, back],
      ...[700, 760, 900].map((seconds): Asked => [seconds, back, UNAVAILABLE]),
    ])

    expect(changes.map(({ kind }) => kind)).toEqual(['first_seen', 'became_unavailable'])
    expect(last?.good).toBe(false)
  })

  it('count after an hour without a good check: the belief itself may be swapped', () => {
    const { changes } = decideAll([
      [0, there, back],
      [3_700, back, there],
      [3_760, back, there],
    ])

    expect(changes.map(({ kind }) => kind)).toEqual(['first_seen', 'identity_changed'])
  })
})

const OTHER = available({ identity: 'L2 PMI-MAD 2026-05-01', price: eur('300.00') })

describe('the site of a fare', () => {
  const sold = (site: Partial<Site> | null, given: Parameters<typeof available>[0] = {}) =>
    soldBy(available(given), site)
  const ONE = siteNamed('One')
  const TWO = siteNamed('Two')

  it.each<[string, Partial<Site> | null, Partial<Site> | null, number, object | undefined]>([
    ['another id', ONE, { ...TWO, name: 'One' }, 1, { id: TWO.id, name: 'One' }],
    ['another name without an id', ONE, { name: 'Two' }, 1, { id: null, name: 'Two' }],
    ['another name where no id was known', { name: 'One' }, TWO, 1, TWO],
    [
      'another name and address under its id',
      ONE,
      { ...TWO, id: ONE.id },
      0,
      { ...TWO, id: ONE.id },
    ],
    ['its name without its id', ONE, { name: 'One' }, 0, ONE],
    ['its id without its name', ONE, { id: ONE.id }, 0, ONE],
    ['its id where no id was known', { name: 'One' }, ONE, 0, ONE],
    [
      'a name where only an id was known',
      { id: ONE.id },
      { name: 'Two' },
      0,
      { id: ONE.id, name: null },
    ],
    ['an address alone', ONE, { url: TWO.url }, 0, ONE],
    ['a first one', null, ONE, 0, ONE],
    ['none any more', ONE, null, 0, ONE],
  ])('after an answer with %s is as its rule says', (_, was, is, changes, shown) => {
    const played = decideAll(
      [0, 60, 120].map((seconds) => [seconds, sold(seconds === 0 ? was : is)]),
    )

    const kinds = played.changes.slice(1).map(({ kind }) => kind)
    expect(kinds).toEqual(Array(changes).fill('site_changed'))
    expect(played.state.belief.outbound.flight?.site).toMatchObject(shown ?? {})
  })

  it('changed between the last check that showed the old one and the first that showed the new one', () => {
    const { change } = decideAll([
      [0, sold(ONE)],
      [60, sold(ONE)],
      [120, sold(TWO)],
      [150, sold(TWO)],
    ])

    expect(change).toMatchObject({
      kind: 'site_changed',
      lastGoodCheckAt: iso(60),
      detectedAt: iso(120),
      before: { outbound: { flight: { site: ONE } } },
      after: { outbound: { flight: { site: TWO } } },
    })
  })

  it('stays known through a record of an answer that does not name it, so that the next one is a change', () => {
    const dearer = { price: eur('105.00') }
    const { changes } = decideAll([
      [0, sold(ONE)],
      [60, sold(null, dearer)],
      [120, sold(TWO, dearer)],
      [150, sold(TWO, dearer)],
    ])

    expect(changes.map(({ kind }) => kind)).toEqual(['first_seen', 'price_changed', 'site_changed'])
    expect(changes[1]?.after.outbound.flight?.site).toEqual(ONE)
  })

  it('of another flight is not that of the flight before', () => {
    const other = { identity: 'L2 PMI-MAD 2026-05-01' }
    const { change } = decideAll([
      [0, sold(ONE)],
      [60, sold(null, other)],
      [90, sold(null, other)],
    ])

    expect(change?.kind).toBe('identity_changed')
    expect(change?.after.outbound.flight?.site).toBeUndefined()
  })
})

describe('a decision', () => {
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

  it.each([
    ['a leg without an answer is unknown', true, null, 'unknown:id_missing'],
    ['a leg outside the question is ignored', false, UNAVAILABLE, null],
  ] as const)('%s', (_, hasReturn, back, outcome) => {
    const decision = decide(initialState(hasReturn), answer(at(0), available(), back), RULES, CALM)

    expect(decision.outcome).toEqual({ outbound: 'available', return: outcome })
    expect(decision.good).toBe(!hasReturn)
  })

  it('what a record has replaced lately waits for a mass as anything else', () => {
    const { last, changes } = decideAll(
      [
        ...[0, 30, 60].map((seconds): Asked => [seconds, UNAVAILABLE]),
        ...[90, 120].map((seconds): Asked => [seconds, available()]),
        ...[300, 340, 400].map((seconds): Asked => [seconds, UNAVAILABLE]),
      ],
      { masses: massesOf(['became_unavailable']) },
    )

    expect(changes.map(({ kind }) => kind)).toEqual(['first_seen', 'became_available'])
    expect(last?.state.candidate).toMatchObject({ answers: 3, heldSince: iso(300) })
  })

  it('a hold lasts from when a mass has counted the change, not from what waited before it', () => {
    const priced = (amount: string) => available({ price: eur(amount) })
    const waiting = decideAll([
      [0, available()],
      [60, priced('150.00')],
    ])
    const masses = massesOf(['price_changed'])

    const lie = decide(waiting.state, answer(at(90), priced('9000.00')), RULES, { ...CALM, masses })
    const late = decide(lie.state, answer(at(680), priced('9000.00')), RULES, CALM)

    expect(late.changes).toEqual([])
    expect(late.state.candidate).toMatchObject({ since: iso(60), heldUntil: iso(690) })
  })

  it('a price is as old as the last answer that showed it', () => {
    const pricedAt = (...story: Asked[]) => decideAll([[0, available()], ...story]).state.pricedAt

    expect(pricedAt([60, available()])).toBe(iso(60))
    expect(pricedAt([60, available({ price: null })])).toBe(iso(0))
    expect(pricedAt([60, UNAVAILABLE], [80, UNAVAILABLE])).toBeNull()
  })

  it('at most a thousand answers of a silence are counted', () => {
    const { state } = decideAll(Array.from({ length: 1_001 }, (_, i) => [i, unknown()]))

    expect(state.silence?.answers).toBe(1_000)
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

  it.each([
    ['a day after a held record the return to what preceded it waits for no mass', 86_000, null],
    [
      'later than a day after a held record its return waits like any gain',
      87_000,
      'became_available',
    ],
  ] as const)('%s', (_, seconds, held) => {
    const loss = massesOf(['became_unavailable'])
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
    const masses = massesOf(['became_available'])

    const { state } = decide(lost.state, answer(at(660 + seconds), available()), RULES, {
      ...CALM,
      masses,
    })

    expect(lost.change?.heldSince).toBe(iso(60))
    expect(heldKindOf(state)).toBe(held)
  })
})

describe('a stored state', () => {
  const row: StateRow = {
    state: {},
    hasReturn: false,
    lastGoodCheckAt: null,
    priceCheckedAt: null,
    priceReason: null,
    everAvailableAt: null,
  }

  it('a state of another version is refused, with the part that is missing', () => {
    const older = { outbound: { belief: 'available' }, return: null }

    expect(() => stateOfRow({ ...row, state: older })).toThrow(
      'the stored state of a fare is malformed: belief is missing',
    )
  })
})
