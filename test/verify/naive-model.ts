import { type Money, sameMoney, sumMoney } from '../../src/base/money.ts'

/** The answer for one leg: a flight with its price, that there is none, nothing usable, or a gain that does not count. */
export type LegAnswer =
  | { readonly price: Money | null; readonly identity: string; readonly itinerary: string }
  | 'unavailable'
  | 'nothing'
  | 'lone gain'

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
  /** The result for the known flight. Null if the answer says nothing about it. */
  readonly says: 'yes' | 'no' | 'lone gain' | null
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

/**
 * Reads the story again and again, each time without the first gain that does not count: its other leg is
 * believed available, and the same answer does not show that leg.
 */
function legsOf(story: readonly ModelCheck[], rules: ModelRules): LegFacts[][] {
  const legs = factsOfLegs(story, rules)
  const [out = [], back = []] = legs
  const isLone = (leg: LegFacts[], other: LegFacts[], i: number) =>
    leg[i]?.says === 'yes' &&
    leg[i - 1]?.belief !== 'available' &&
    other[i]?.belief === 'available' &&
    other[i]?.says !== 'yes'
  const at = story.findIndex((_, i) => isLone(out, back, i) || isLone(back, out, i))
  if (at === -1) return legs
  const gain = isLone(out, back, at) ? { outbound: 'lone gain' } : { return: 'lone gain' }
  return legsOf(story.with(at, { ...story[at], ...gain } as ModelCheck), rules)
}

/** What is believed of each leg after each check. */
function factsOfLegs(story: readonly ModelCheck[], rules: ModelRules): LegFacts[][] {
  const answersOf = [(check: ModelCheck) => check.outbound]
  if (story[0] && story[0].return !== null) answersOf.push((check) => check.return ?? 'nothing')
  const legs = answersOf.map((): LegFacts[] => [])
  for (const [i, check] of story.entries()) {
    const wasBookable = pairAt(legs, i - 1) === 'bookable'
    const now = legs.map((facts, leg) => {
      const answerOf = answersOf[leg] ?? (() => 'nothing')
      const before = facts[i - 1] ?? NOTHING_KNOWN
      return factsAfter({ story, answerOf, rules, facts, before, wasBookable, i, check })
    })
    for (const [leg, facts] of legs.entries()) facts.push(now[leg] ?? NOTHING_KNOWN)
  }
  return legs
}

interface FactsArgs {
  readonly story: readonly ModelCheck[]
  readonly answerOf: (check: ModelCheck) => LegAnswer
  readonly rules: ModelRules
  readonly facts: readonly LegFacts[]
  readonly before: LegFacts
  readonly wasBookable: boolean
  readonly i: number
  readonly check: ModelCheck
}

function factsAfter(args: FactsArgs): LegFacts {
  const { before, i, check, answerOf } = args
  const { belief, identity, itinerary, price } = before
  const unchanged: LegFacts = { belief, identity, itinerary, price, says: null }
  const answer = answerOf(check)
  if (answer === 'nothing') return unchanged
  if (answer === 'lone gain') return { ...unchanged, says: 'lone gain' }
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
  const repriced = repricedSince(args, known.price, answer)
  const now = {
    ...known,
    ...answer,
    price: repriced === undefined ? keptPrice(args, known, answer) : answer.price,
    belief: 'available' as const,
  }
  if (gained !== undefined) return { ...now, moved: gained }
  if (replaced !== 'same') return now
  return {
    ...now,
    ...(answer.itinerary === itinerary ? {} : { retimed: i }),
    ...(repriced === undefined ? {} : { repriced }),
  }
}

/** A pair that is not shown as bookable keeps no price that an answer with the flight does not show. */
function keptPrice(
  { wasBookable }: FactsArgs,
  { price }: LegFacts,
  seen: { readonly price: Money | null },
): Money | null {
  return seen.price === null && !wasBookable ? null : price
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
    fact.says === null || fact.says === 'lone gain' ? [] : [{ says: fact.says, at }],
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
    if (typeof answer === 'string') continue
    if (answer.identity !== identity) break
    first = at
  }
  const firstAt = story[first]?.askedAt ?? check.askedAt
  return check.askedAt.getTime() - firstAt.getTime() >= IDENTITY_GAP_MS ? first : 'not yet'
}

/** The position from which on the answers have shown the price that replaces the believed one; undefined if none does. */
function repricedSince(
  { story, answerOf, facts, wasBookable, i, check, rules }: FactsArgs,
  believed: Money | null,
  { price: seen, identity }: { readonly price: Money | null; readonly identity: string },
): number | undefined {
  if (seen === null || sameMoney(seen, believed)) return undefined
  if (believed === null || !wasBookable) return i
  const ratio = Number(seen.amount) / Number(believed.amount)
  if (seen.currency === believed.currency && ratio >= 0.5 && ratio <= 1.5) return i
  let first = i
  for (let at = i - 1; at >= 0; at -= 1) {
    const earlier = story[at]
    const answer = earlier ? answerOf(earlier) : 'nothing'
    if (typeof answer === 'string' || facts[at]?.says !== 'yes') continue
    if (answer.price === null || answer.identity !== identity) continue
    if (!sameMoney(answer.price, seen)) break
    first = at
  }
  const firstAt = story[first]?.askedAt ?? check.askedAt
  const isConfirmed = check.askedAt.getTime() - firstAt.getTime() >= rules.countGapMs
  return first < i && isConfirmed ? first : undefined
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
    if (fact.price === null || sameMoney(answer?.price ?? null, fact.price)) return at
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
