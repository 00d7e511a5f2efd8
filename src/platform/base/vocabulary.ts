import { CHANGE_KINDS, kindOf, MASS_KINDS, massOf, namesOf, REASONS } from './change-kinds.ts'
import type { Belief, BUDGET_LANES, CheckReason, FARE_STATES, HiddenReason } from './kinds.ts'

/*
 * The texts of codes, in English: the page reads them from the API, and messages and the command line from here. No other
 * file has a text of one of these codes.
 */

interface Sentences {
  readonly label: string
  /** Templates. The first of which all values are known is the sentence. */
  readonly sentences: readonly string[]
}

type Check = CheckReason | (typeof BUDGET_LANES)[number]

const STATES: Readonly<Record<(typeof FARE_STATES)[number], Sentences>> = {
  bookable: {
    label: 'bookable',
    sentences: ['can be booked for {price}', 'can be booked, price not known'],
  },
  not_bookable: {
    label: 'not bookable',
    sentences: ['outbound flight {outbound}, return flight {return}', '{outbound}'],
  },
  unknown: {
    label: 'unknown',
    sentences: ['outbound flight {outbound}, return flight {return}', 'availability {outbound}'],
  },
  ended: { label: 'ended', sentences: ['ended'] },
}

const BELIEFS: Readonly<Record<Belief, string>> = {
  available: 'available',
  unavailable: 'not available',
  unknown: 'not known',
}

const HIDDEN: Readonly<Record<HiddenReason, string>> = {
  held: 'many flights change at once: this change waits',
  identity_mismatch: 'the answers show another flight',
  unanswered: 'its last answers were unusable',
}

const CHECKS: Readonly<Record<Check, string>> = {
  scheduled: 'regular check',
  max_delay: 'a watch asks for a longest delay',
  route_moved: 'regular check, sooner because other fares of its route changed',
  first_check: 'first check',
  confirmation: 'second check, of a loss, another flight or a doubtful price',
  retry: 'check again after no good answer',
  on_demand: 'question on demand',
  quick_retry: 'immediate retry',
  list: 'route list',
}

const KINDS = Object.fromEntries(
  namesOf(CHANGE_KINDS).map((name) => {
    const { label, about, feeds, tone, sentences = [] } = kindOf(name)
    return [name, { label, about, feeds, tone, sentences }]
  }),
)

/** The texts by what their codes are of. */
export const VOCABULARY = {
  language: 'en',
  kinds: KINDS,
  states: STATES,
  beliefs: BELIEFS,
  legs: { outbound: 'outbound flight', return: 'return flight' },
  notes: {
    saving: '{saving} less than you paid',
    lowest: 'the lowest of {prices} days',
    percentile: 'it was cheaper on {percentile} % of {prices} days',
    newLow: 'a new low of the days that you chose',
  },
  reasons: Object.fromEntries(namesOf(REASONS).map((name) => [name, REASONS[name].label])),
  statuses: {
    new: 'not known yet',
    followed: 'followed',
    stale: 'too old to rely on',
    expired: 'ended',
    paused: 'paused',
  },
  hidden: HIDDEN,
  checks: CHECKS,
  incidents: Object.fromEntries(MASS_KINDS.map((kind) => [kind, massOf(kind).warning])),
} as const

/** A code as words, for codes without a text. */
export function plain(code: string): string {
  return code.replaceAll('_', ' ')
}

type Values = Readonly<Record<string, string | undefined>>

/**
 * The first template of which all values are known, with its values; undefined if there is none.
 * @example phrase(['{a} of {b}', '{a}'], { a: 'one', b: undefined }) // 'one'
 */
export function phrase(templates: readonly string[], values: Values): string | undefined {
  const isKnown = ([, name = '']: RegExpMatchArray) => values[name] !== undefined
  return templates
    .find((template) => [...template.matchAll(VALUE)].every(isKnown))
    ?.replaceAll(VALUE, (_, name: string) => values[name] ?? '')
}

const VALUE = /\{(\w+)\}/g
