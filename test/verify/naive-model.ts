import { type Money, sameMoney, sumMoney } from '../../src/base/money.ts'

/** The answer for one leg: a flight with its price, that there is none, or nothing usable. */
export type LegAnswer =
  | { readonly price: Money | null; readonly identity: string; readonly itinerary: string }
  | 'unavailable'
  | 'nothing'

/** One check of a fare. A story has them in the order of their requests. */
export interface ModelCheck {
  readonly askedAt: Date
  readonly outbound: LegAnswer
  readonly return: LegAnswer | null
  /** Whether an incident was open when the check was decided. */
  readonly held?: boolean
}

export interface ModelRules {
  readonly lossConfirmations: number
  readonly gainConfirmations: number
  readonly countGapMs: number
}

/** A change that must have been recorded. */
export interface ExpectedChange {
  readonly kind: string
  readonly detectedAt: string
  readonly lastGoodCheckAt: string | null
  readonly pair: string
  /** The price of the pair after the change. */
  readonly price: Money | null
}

interface LegFacts {
  readonly belief: 'available' | 'unavailable' | 'unknown'
  readonly identity: string | null
  readonly itinerary: string | null
  readonly price: Money | null
  /** What the answer says of the known flight; null where it says nothing. */
  readonly says: 'yes' | 'no' | null
  /** Positions of the first answers that showed the changes of this one. */
  readonly moved?: number
  readonly replaced?: number
  readonly retimed?: number
  readonly repriced?: number
}

const NOTHING_KNOWN: LegFacts = {
  belief: 'unknown',
  identity: null,
  itinerary: null,
  price: null,
  says: null,
}
const IDENTITY_GAP_MS = 20_000

/**
 * The changes that must have been recorded of a fare. It reads all answers again at every check: slow, without counters
 * and without state, so that it cannot share an error with `decide`.
 */
export function expectedChanges(story: readonly ModelCheck[], rules: ModelRules): ExpectedChange[] {
  const legs = legsOf(story, rules)
  return story.flatMap((_, i) => changesAt(story, legs, i))
}

/** Whether the last check was good: it showed the state of every leg. */
export function wasLastGood(story: readonly ModelCheck[], rules: ModelRules): boolean {
  return legsOf(story, rules).every((leg) => leg.at(-1)?.says !== null)
}

function legsOf(story: readonly ModelCheck[], rules: ModelRules): LegFacts[][] {
  const legs = [factsOfLeg(story, (check) => check.outbound, rules)]
  if (story[0] && story[0].return !== null) {
    legs.push(factsOfLeg(story, (check) => check.return ?? 'nothing', rules))
  }
  return legs
}

/** What is believed of a leg after each check. */
function factsOfLeg(
  story: readonly ModelCheck[],
  answerOf: (check: ModelCheck) => LegAnswer,
  rules: ModelRules,
): LegFacts[] {
  const facts: LegFacts[] = []
  for (const [i, check] of story.entries()) {
    const before = facts[i - 1] ?? NOTHING_KNOWN
    facts.push(factsAfter({ story, answerOf, rules, facts, before, i, check }))
  }
  return facts
}

interface FactsArgs {
  readonly story: readonly ModelCheck[]
  readonly answerOf: (check: ModelCheck) => LegAnswer
  readonly rules: ModelRules
  readonly facts: readonly LegFacts[]
  readonly before: LegFacts
  readonly i: number
  readonly check: ModelCheck
}

function factsAfter(args: FactsArgs): LegFacts {
  const { before, i, check, answerOf } = args
  const { belief, identity, itinerary, price } = before
  const unchanged: LegFacts = { belief, identity, itinerary, price, says: null }
  const answer = answerOf(check)
  if (answer === 'nothing') return unchanged
  if (answer === 'unavailable') {
    const lost = believedAfter(args, 'no')
    if (lost === undefined) return { ...unchanged, says: 'no' }
    return { ...unchanged, belief: 'unavailable', price: null, says: 'no', moved: lost }
  }
  const replaced = replacedSince(args, answer.identity)
  if (replaced === 'not yet') return unchanged
  const known: LegFacts =
    replaced === 'same'
      ? { ...unchanged, says: 'yes' }
      : { ...unchanged, ...answer, price: null, says: 'yes', replaced }
  const gained = believedAfter(args, 'yes')
  if (belief !== 'available' && gained === undefined) return known
  const now = {
    ...known,
    ...answer,
    price: answer.price ?? known.price,
    belief: 'available' as const,
  }
  if (gained !== undefined) return { ...now, moved: gained }
  if (replaced !== 'same') return now
  return {
    ...now,
    ...(answer.itinerary === itinerary ? {} : { retimed: i }),
    ...(sameMoney(now.price, price) ? {} : { repriced: i }),
  }
}

/** The position of the first answer of the row that changes the belief; undefined where the belief stays. */
function believedAfter(
  { story, facts, before, i, check, rules }: FactsArgs,
  says: 'yes' | 'no',
): number | undefined {
  if (before.belief === (says === 'yes' ? 'available' : 'unavailable')) return undefined
  if (says === 'yes' && before.belief === 'unknown') return i
  if (says === 'no' && check.held === true) return undefined
  const answered = facts.flatMap((fact, at) =>
    fact.says === null ? [] : [{ says: fact.says, at }],
  )
  answered.push({ says, at: i })
  const run = answered.slice(answered.findLastIndex((one) => one.says !== says) + 1)
  const needed = says === 'no' ? rules.lossConfirmations : rules.gainConfirmations
  return countedOf(
    run.map(({ at }) => story[at] ?? check),
    rules,
  ) >= needed
    ? run[0]?.at
    : undefined
}

/** How many of these answers count: the first does, and each later one that is a gap after the first for each counted before. */
function countedOf(run: readonly ModelCheck[], { countGapMs }: ModelRules): number {
  let counted = 0
  for (const { askedAt } of run) {
    const sinceMs = askedAt.getTime() - (run[0] ?? { askedAt }).askedAt.getTime()
    if (sinceMs >= counted * countGapMs) counted += 1
  }
  return counted
}

/** Whether the flight is the known one; otherwise the position from which on another one has been shown that replaces it. */
function replacedSince(
  { story, answerOf, before, i, check }: FactsArgs,
  identity: string,
): 'same' | 'not yet' | number {
  if (before.identity === null || before.identity === identity) return 'same'
  let first = i
  for (let at = i - 1; at >= 0; at -= 1) {
    const earlier = story[at]
    const answer = earlier ? answerOf(earlier) : 'nothing'
    if (answer === 'nothing' || answer === 'unavailable') continue
    if (answer.identity !== identity) break
    first = at
  }
  const firstAt = story[first]?.askedAt ?? check.askedAt
  return check.askedAt.getTime() - firstAt.getTime() >= IDENTITY_GAP_MS ? first : 'not yet'
}

function changesAt(
  story: readonly ModelCheck[],
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
  const record = (kind: string, mark: 'moved' | 'replaced' | 'retimed' | 'repriced') => {
    const concerned = legs.filter(
      (leg) =>
        leg[i]?.[mark] !== undefined &&
        (kind !== 'identity_changed' || leg[i - 1]?.belief === 'available'),
    )
    if (concerned.length === 0) return []
    const firsts = concerned.map((leg) => leg[i]?.[mark] ?? i)
    const begins = concerned.map((leg, at) => lastConfirmed(story, { legs, leg }, firsts[at] ?? i))
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
  const greater = [...record('identity_changed', 'replaced'), ...record(beliefKind, 'moved')]
  if (greater.some((change) => change.kind !== 'legs_changed')) return greater
  const priced = wasPair === 'bookable' && pair === 'bookable'
  return [
    ...greater,
    ...record('itinerary_changed', 'retimed'),
    ...(priced ? record('price_changed', 'repriced') : []),
  ]
}

/** The position of the last good check before another that showed exactly what was believed of the leg; or -1. */
function lastConfirmed(
  story: readonly ModelCheck[],
  { legs, leg }: { legs: readonly (readonly LegFacts[])[]; leg: readonly LegFacts[] },
  before: number,
): number {
  const isOutbound = leg === legs[0]
  for (let at = before - 1; at >= 0; at -= 1) {
    const fact = leg[at]
    const check = story[at]
    if (!fact || !check || legs.some((any) => any[at]?.says === null)) continue
    const answer = isOutbound ? check.outbound : check.return
    if (fact.says === 'no' && fact.belief === 'unavailable') return at
    if (fact.says !== 'yes' || fact.belief !== 'available' || typeof answer !== 'object') continue
    if (answer?.price !== null || fact.price === null) return at
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

function timeAt(story: readonly ModelCheck[], i: number): string | null {
  return story[i]?.askedAt.toISOString() ?? null
}
