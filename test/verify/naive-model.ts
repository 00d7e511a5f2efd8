import { type Money, sameMoney, sumMoney } from '../../src/base/money.ts'

/** What the upstream said of one leg: which flight and at what price, that there is none, or nothing of use. */
export type Said =
  | { readonly price: Money | null; readonly identity: string; readonly itinerary: string }
  | 'unavailable'
  | 'nothing'

/** One check of a fare, in the order of the requests. */
export interface Asked {
  readonly askedAt: Date
  readonly outbound: Said
  readonly return: Said | null
  /** Whether an incident was open when it was decided. */
  readonly held?: boolean
}

export interface ModelRules {
  readonly lossConfirmations: number
  readonly gainConfirmations: number
  readonly countGapMs: number
}

/** A change that must have been recorded, by what matters of it. */
export interface ExpectedChange {
  readonly kind: string
  readonly detectedAt: string
  readonly lastGoodCheckAt: string | null
  readonly pair: string
  /** The pair's price after it. */
  readonly price: Money | null
}

interface LegFacts {
  readonly belief: 'available' | 'unavailable' | 'unknown'
  readonly identity: string | null
  readonly itinerary: string | null
  readonly price: Money | null
  /** The word that counted: none where the answer told nothing of the flight that we know. */
  readonly word: 'yes' | 'no' | null
  /** Positions of the first answers that showed what changed by this one. */
  readonly moved?: number
  readonly settled?: number
  readonly retimed?: number
  readonly repriced?: number
}

const NOTHING_KNOWN: LegFacts = {
  belief: 'unknown',
  identity: null,
  itinerary: null,
  price: null,
  word: null,
}
const IDENTITY_GAP_MS = 20_000

/**
 * What must have been recorded of a fare, by looking back over all answers at every check: slow, without
 * counters and without state, so that it cannot be wrong in the way the decision could be.
 */
export function expectedChanges(story: readonly Asked[], rules: ModelRules): ExpectedChange[] {
  const legs = legsOf(story, rules)
  return story.flatMap((_, i) => changesAt(story, legs, i))
}

/** Whether the last check was good: it showed the state of every leg. */
export function wasLastGood(story: readonly Asked[], rules: ModelRules): boolean {
  return legsOf(story, rules).every((leg) => leg.at(-1)?.word !== null)
}

function legsOf(story: readonly Asked[], rules: ModelRules): LegFacts[][] {
  const legs = [tellLeg(story, (asked) => asked.outbound, rules)]
  if (story[0] && story[0].return !== null) {
    legs.push(tellLeg(story, (asked) => asked.return ?? 'nothing', rules))
  }
  return legs
}

/** What is believed of a leg after each check. */
function tellLeg(
  story: readonly Asked[],
  saidOf: (asked: Asked) => Said,
  rules: ModelRules,
): LegFacts[] {
  const facts: LegFacts[] = []
  for (const [i, asked] of story.entries()) {
    const before = facts[i - 1] ?? NOTHING_KNOWN
    facts.push(factsAfter({ story, saidOf, rules, facts, before, i, asked }))
  }
  return facts
}

interface Telling {
  readonly story: readonly Asked[]
  readonly saidOf: (asked: Asked) => Said
  readonly rules: ModelRules
  readonly facts: readonly LegFacts[]
  readonly before: LegFacts
  readonly i: number
  readonly asked: Asked
}

function factsAfter(telling: Telling): LegFacts {
  const { before, i, asked, saidOf } = telling
  const { belief, identity, itinerary, price } = before
  const quiet: LegFacts = { belief, identity, itinerary, price, word: null }
  const said = saidOf(asked)
  if (said === 'nothing') return quiet
  if (said === 'unavailable') {
    const lost = believedAfter(telling, 'no')
    if (lost === undefined) return { ...quiet, word: 'no' }
    return { ...quiet, belief: 'unavailable', price: null, word: 'no', moved: lost }
  }
  const settled = settledAt(telling, said.identity)
  if (settled === 'not yet') return quiet
  const known: LegFacts =
    settled === 'ours'
      ? { ...quiet, word: 'yes' }
      : { ...quiet, ...said, price: null, word: 'yes', settled }
  const gained = believedAfter(telling, 'yes')
  if (belief !== 'available' && gained === undefined) return known
  const now = { ...known, ...said, price: said.price ?? known.price, belief: 'available' as const }
  if (gained !== undefined) return { ...now, moved: gained }
  if (settled !== 'ours') return now
  return {
    ...now,
    ...(said.itinerary === itinerary ? {} : { retimed: i }),
    ...(sameMoney(now.price, price) ? {} : { repriced: i }),
  }
}

/** The position of the first of the answers that make this one believed; undefined where the belief stays. */
function believedAfter(
  { story, facts, before, i, asked, rules }: Telling,
  word: 'yes' | 'no',
): number | undefined {
  if (before.belief === (word === 'yes' ? 'available' : 'unavailable')) return undefined
  if (word === 'yes' && before.belief === 'unknown') return i
  if (word === 'no' && asked.held === true) return undefined
  const spoken = facts.flatMap((fact, at) => (fact.word === null ? [] : [{ word: fact.word, at }]))
  spoken.push({ word, at: i })
  const run = spoken.slice(spoken.findLastIndex((one) => one.word !== word) + 1)
  const needed = word === 'no' ? rules.lossConfirmations : rules.gainConfirmations
  return countedOf(
    run.map(({ at }) => story[at] ?? asked),
    rules,
  ) >= needed
    ? run[0]?.at
    : undefined
}

/** How many of these answers count: each but the first lies as many gaps behind the first as have counted before it. */
function countedOf(run: readonly Asked[], { countGapMs }: ModelRules): number {
  let counted = 0
  for (const { askedAt } of run) {
    const sinceMs = askedAt.getTime() - (run[0] ?? { askedAt }).askedAt.getTime()
    if (sinceMs >= counted * countGapMs) counted += 1
  }
  return counted
}

/** Whether the flight is ours, or since when another one was seen that now takes its place. */
function settledAt(
  { story, saidOf, before, i, asked }: Telling,
  identity: string,
): 'ours' | 'not yet' | number {
  if (before.identity === null || before.identity === identity) return 'ours'
  let first = i
  for (let at = i - 1; at >= 0; at -= 1) {
    const earlier = story[at]
    const said = earlier ? saidOf(earlier) : 'nothing'
    if (said === 'nothing' || said === 'unavailable') continue
    if (said.identity !== identity) break
    first = at
  }
  const firstAt = story[first]?.askedAt ?? asked.askedAt
  return asked.askedAt.getTime() - firstAt.getTime() >= IDENTITY_GAP_MS ? first : 'not yet'
}

function changesAt(
  story: readonly Asked[],
  legs: readonly (readonly LegFacts[])[],
  i: number,
): ExpectedChange[] {
  const wasPair = pairAt(legs, i - 1)
  const pair = pairAt(legs, i)
  const beliefKind =
    wasPair !== 'bookable' && pair === 'bookable'
      ? 'became_available'
      : wasPair === 'bookable' && pair !== 'bookable'
        ? 'became_unavailable'
        : 'legs_changed'
  const record = (kind: string, mark: 'moved' | 'settled' | 'retimed' | 'repriced') => {
    const concerned = legs.filter(
      (leg) =>
        leg[i]?.[mark] !== undefined &&
        (kind !== 'identity_changed' || leg[i - 1]?.belief === 'available'),
    )
    if (concerned.length === 0) return []
    const firsts = concerned.map((leg) => leg[i]?.[mark] ?? i)
    const begins = concerned.map((leg, at) => lastBorneOut(story, { legs, leg }, firsts[at] ?? i))
    const found = kind === 'became_available' ? Math.max(...firsts) : Math.min(...firsts)
    const begin = begins.includes(-1) ? -1 : Math.min(...begins)
    return [
      {
        kind,
        detectedAt: timeAt(story, found) ?? '',
        lastGoodCheckAt: timeAt(story, begin),
        pair,
        price: priceAt(legs, i),
      },
    ]
  }
  const greater = [...record('identity_changed', 'settled'), ...record(beliefKind, 'moved')]
  if (greater.some((change) => change.kind !== 'legs_changed')) return greater
  const priced = wasPair === 'bookable' && pair === 'bookable'
  return [
    ...greater,
    ...record('itinerary_changed', 'retimed'),
    ...(priced ? record('price_changed', 'repriced') : []),
  ]
}

/** The last check before a position that told of every leg, and of this one exactly what was believed; or -1. */
function lastBorneOut(
  story: readonly Asked[],
  { legs, leg }: { legs: readonly (readonly LegFacts[])[]; leg: readonly LegFacts[] },
  before: number,
): number {
  const isOutbound = leg === legs[0]
  for (let at = before - 1; at >= 0; at -= 1) {
    const fact = leg[at]
    const asked = story[at]
    if (!fact || !asked || legs.some((any) => any[at]?.word === null)) continue
    const said = isOutbound ? asked.outbound : asked.return
    if (fact.word === 'no' && fact.belief === 'unavailable') return at
    if (fact.word !== 'yes' || fact.belief !== 'available' || typeof said !== 'object') continue
    if (said?.price !== null || fact.price === null) return at
  }
  return -1
}

function pairAt(legs: readonly (readonly LegFacts[])[], i: number): string {
  const beliefs = legs.map((leg) => leg[i]?.belief ?? 'unknown')
  if (beliefs.includes('unavailable')) return 'not_bookable'
  return beliefs.includes('unknown') ? 'unknown' : 'bookable'
}

function priceAt(legs: readonly (readonly LegFacts[])[], i: number): Money | null {
  if (pairAt(legs, i) !== 'bookable') return null
  const prices = legs.flatMap((leg) => leg[i]?.price ?? [])
  return prices.length === legs.length ? sumMoney(prices) : null
}

function timeAt(story: readonly Asked[], i: number): string | null {
  return story[i]?.askedAt.toISOString() ?? null
}
