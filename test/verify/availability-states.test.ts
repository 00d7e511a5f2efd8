import { readFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import type { LegObservation } from '../../src/upstream/observation.ts'
import { type Decision, decide } from '../../src/verify/decide/decide.ts'
import type { DecisionRules } from '../../src/verify/decide/decide-leg.ts'
import {
  type FareState,
  initialState,
  pairOf,
  shownPrice,
  viewOf,
} from '../../src/verify/decide/fare-state.ts'
import { at, available, observation, RULES, UNAVAILABLE, unknown } from './answers.ts'
import { answersFor, parseAnswers } from './case-language.ts'
import { diagramArrows, tableRows } from './markdown-page.ts'

const PAGE = readFileSync(
  path.resolve(import.meta.dirname, '../../docs/reference/availability-states.md'),
  'utf8',
)
const CASES = tableRows(PAGE, 'answers')

interface Answers {
  readonly seconds: number
  readonly legs: readonly LegObservation[]
  readonly rules?: DecisionRules
}

function ask(state: FareState, { seconds, legs, rules = RULES }: Answers): Decision {
  const [outbound = unknown(), back = null] = legs
  return decide(state, { askedAt: at(seconds), observation: observation(outbound, back) }, rules)
}

function believing(believed: string): FareState {
  const answers = answersFor(believed)
  return answers.reduce(
    (state, legs, step) => ask(state, { seconds: step * 20, legs }).state,
    initialState(believed.includes('/')),
  )
}

function beliefsOf(state: FareState): string {
  const { outbound, return: back } = viewOf(state)
  return [outbound, ...(back ? [back] : [])].map((leg) => leg.belief).join(' / ')
}

function play(believed: string, answers: string) {
  let state = believing(believed)
  let seconds = 1_000
  const kinds: string[] = []
  let next = ''
  for (const { afterMs, rules, legs } of parseAnswers(answers)) {
    seconds += afterMs / 1000
    const decision = ask(state, { seconds, legs, rules })
    kinds.push(...decision.changes.map((change) => change.kind))
    next = decision.next
    state = decision.state
  }
  const price = shownPrice(state)
  return {
    'then believed': beliefsOf(state),
    'price then': price === null ? '—' : `${price.amount} ${price.currency}`,
    recorded: kinds.join(', ') || '—',
    next,
  }
}

describe('the table of cases', () => {
  it('the page has its table of cases', () => {
    expect(CASES.length).toBeGreaterThan(80)
  })

  it.each(CASES)(
    'a fare believed $believed, after $answers, is as the table says',
    ({ believed = '', answers = '', ...expected }) => {
      expect(beliefsOf(believing(believed))).toBe(believed)

      expect(play(believed, answers)).toMatchObject(expected)
    },
  )
})

describe('the diagrams', () => {
  const [legArrows = [], pairArrows = []] = diagramArrows(PAGE)

  it('the first diagram shows every move of a leg, and no other', () => {
    const nameOf = ({ outbound: { belief, contradictions } }: FareState) =>
      contradictions === 0 ? belief : `${belief}_${contradictions}`
    const answers = [[available()], [UNAVAILABLE], [unknown()]]

    const moves = explore(answers, { nameOf, labelsOf: ({ outcome }) => [outcome.outbound] })

    const arrows = moves.filter(([from, to]) => from !== to).map(arrow)
    expect(new Set(arrows)).toEqual(new Set(legArrows))
  })

  it('the second diagram shows every move of a pair with its record, and no other', () => {
    const one = [available(), UNAVAILABLE, unknown()]
    const answers = one.flatMap((outbound) => one.map((back) => [outbound, back]))

    const moves = explore(answers, {
      nameOf: pairOf,
      labelsOf: ({ changes }) => changes.map(({ kind }) => kind),
    })

    expect(new Set(moves.map(arrow))).toEqual(new Set(pairArrows))
  })
})

type Move = readonly [from: string, to: string, label: string]

function arrow([from, to, label]: Move): string {
  return `${from} --> ${to}: ${label}`
}

interface Naming {
  readonly nameOf: (state: FareState) => string
  readonly labelsOf: (decision: Decision) => string[]
}

/** Every move that the answers can cause, from the initial state on, each once. */
function explore(answers: readonly (readonly LegObservation[])[], naming: Naming): Move[] {
  const moves = new Map<string, Move>()
  const seen = new Set<string>()
  const open = [initialState(answers[0]?.length === 2)]
  let seconds = 0
  for (let state = open.pop(); state !== undefined; state = open.pop()) {
    seconds += 20
    const key = keyOf(state)
    if (seen.has(key)) continue
    seen.add(key)
    for (const legs of answers) {
      const decision = ask(state, { seconds, legs })
      for (const label of naming.labelsOf(decision)) {
        const move: Move = [naming.nameOf(state), naming.nameOf(decision.state), label]
        moves.set(arrow(move), move)
      }
      open.push(decision.state)
    }
  }
  return [...moves.values()]
}

function keyOf(state: FareState): string {
  return [state.outbound, state.return].map((leg) => `${leg?.belief}${leg?.contradictions}`).join()
}
