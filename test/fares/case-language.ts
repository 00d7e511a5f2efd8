import type { DecisionRules } from '../../src/fares/decide.ts'
import type { MassContext } from '../../src/fares/mass.ts'
import { HELD_KINDS, type HeldKind } from '../../src/platform/base/change-kinds.ts'
import type { LegObservation, Site } from '../../src/upstream/observation.ts'
import {
  available,
  CALM,
  eur,
  massesOf,
  RULES,
  siteNamed,
  soldBy,
  UNAVAILABLE,
  unknown,
} from './answers.ts'

/** One check of a case in test/fares/cases.md. */
export interface CaseCheck {
  readonly afterMs: number
  readonly rules: DecisionRules
  readonly context: MassContext
  /** Kinds of changes that an operator has released before the check. */
  readonly released: readonly HeldKind[]
  readonly legs: readonly LegObservation[]
}

const UNITS: Readonly<Record<string, number>> = { s: 1_000, min: 60_000 }
const OTHER = eur('300.00')

/**
 * Reads the column "answers": checks separated by commas, legs by a slash. Before the answers of a check stands what is so from
 * there on (`mass became_unavailable`, `no mass`, `loss 3`, `gain 1`), its time after the one before (`after 10 s`), or
 * what an operator has released just before it (`released became_unavailable`).
 */
export function parseAnswers(text: string): CaseCheck[] {
  let rules = RULES
  let context = CALM
  return text.split(', ').map((part) => {
    const words = part.split(': ')
    const legs = (words.pop() ?? '').split(' / ').map(parseAnswer)
    let afterMs = 20_000
    const released: HeldKind[] = []
    for (const word of words) {
      const delay = /^after (\d+) (s|min)$/.exec(word)
      const release = HELD_KINDS.find((kind) => word === `released ${kind}`)
      if (delay) afterMs = Number(delay[1]) * (UNITS[delay[2] ?? ''] ?? Number.NaN)
      else if (release) released.push(release)
      else if (/^(loss|gain) /.test(word)) rules = { ...rules, ...parseRule(word) }
      else context = { ...context, ...parseContext(word) }
    }
    return { afterMs, rules, context, released, legs }
  })
}

function parseContext(word: string): Partial<MassContext> {
  const masses = HELD_KINDS.filter((kind) => word === `mass ${kind}`)
  if (masses.length > 0 || word === 'no mass') return { masses: massesOf(masses) }
  throw new Error(`the cases know no circumstance "${word}"`)
}

function parseRule(word: string): Partial<DecisionRules> {
  const count = /^(loss|gain) (\d)$/.exec(word)
  if (count?.[1] === 'loss') return { lossConfirmations: Number(count[2]) }
  if (count?.[1] === 'gain') return { gainConfirmations: Number(count[2]) }
  throw new Error(`the cases know no rule "${word}"`)
}

export function parseAnswer(text: string): LegObservation {
  const [what = '', site] = text.split(/ by (?=[a-z ]*site$)/)
  if (site !== undefined) return soldBy(parseAnswer(what), parseSite(site))
  const price = /^at (\d+\.\d\d) ([A-Z]{3})( unlike its parts)?$/.exec(text)
  if (price) {
    const [, amount = '', currency = '', odd] = price
    return available({ price: { amount, currency }, odd: odd !== undefined })
  }
  switch (text) {
    case 'available':
      return available()
    case 'no price':
      return available({ price: null })
    case 'other times':
      return available({ itinerary: '12:00' })
    case 'other flight':
      return available({ identity: 'L2 PMI-MAD 2026-05-01', price: OTHER })
    case 'third flight':
      return available({ identity: 'M3 PMI-MAD 2026-05-01', price: OTHER })
    case 'past flight':
      return pastFlight()
    case 'unavailable':
      return UNAVAILABLE
    case 'timeout':
      return unknown()
    default:
      throw new Error(`the cases know no answer "${text}"`)
  }
}

function parseSite(text: string): Partial<Site> | null {
  switch (text) {
    case 'no site':
      return null
    case 'another site':
      return siteNamed('Two')
    case 'a third site':
      return siteNamed('Three')
    case 'its renamed site':
      return { ...siteNamed('One'), name: 'Renamed' }
    default:
      throw new Error(`the cases know no site "${text}"`)
  }
}

function pastFlight(): LegObservation {
  return JSON.parse(JSON.stringify(available()).replaceAll('2026-', '2020-')) as LegObservation
}

/** Answers that lead to a belief, as many for each leg. */
export function answersFor(believed: string): readonly (readonly LegObservation[])[] {
  const paths: Readonly<Record<string, readonly LegObservation[]>> = {
    available: [available(), available(), available()],
    unavailable: [UNAVAILABLE, UNAVAILABLE, UNAVAILABLE],
    unknown: [unknown(), unknown(), unknown()],
  }
  const legs = believed.split(' / ').map((leg) => paths[leg])
  return [0, 1, 2].map((step) =>
    legs.map((path) => {
      const answer = path?.[step]
      if (answer === undefined) throw new Error(`the cases know no belief "${believed}"`)
      return answer
    }),
  )
}
