import { type Money, sameMoney, sumMoney } from '../../src/platform/base/money.ts'

/** The answer for one leg: a flight with its price, that there is none, or nothing usable. */
export type LegAnswer = ShownLeg | 'unavailable' | 'nothing'

interface ShownLeg {
  readonly price: Money | null
  readonly identity: string
  readonly itinerary: string
  /** Null where the answer names none. */
  readonly site: string | null
}

/** One check of a fare. A story has them in the order of their requests. */
export interface ModelCheck {
  readonly askedAt: Date
  readonly outbound: LegAnswer
  readonly return: LegAnswer | null
}

export interface ModelRules {
  readonly lossConfirmations: number
  readonly gainConfirmations: number
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

type Fare = readonly LegAnswer[]
type Kind = 'loss' | 'gain' | 'identity' | 'itinerary' | 'site' | 'price'

/** What is believed after each check, and since when. */
interface Believed {
  readonly fare: Fare
  /** The position of the check that made it the belief; -1 where nothing is believed. */
  readonly at: number
}

interface Story {
  readonly checks: readonly ModelCheck[]
  readonly fares: readonly Fare[]
  /** One after each check so far. */
  readonly beliefs: Believed[]
  readonly rules: ModelRules
}

/**
 * The changes that must have been recorded of a fare, no mass being about. It reads the answers since the belief began
 * again at every check: slow, and without counters, so that it cannot share an error with `decide`.
 */
export function expectedChanges(
  checks: readonly ModelCheck[],
  rules: ModelRules,
): ExpectedChange[] {
  const story = readBeliefs(checks, rules)
  return checks.flatMap((_, i) => changesAt(story, i))
}

/** Whether the last check was good: it agrees with what is believed after it, prices apart. */
export function wasLastGood(checks: readonly ModelCheck[], rules: ModelRules): boolean {
  return isGood(readBeliefs(checks, rules), checks.length - 1)
}

function readBeliefs(checks: readonly ModelCheck[], rules: ModelRules): Story {
  const fares = checks.map(({ outbound, return: back }) =>
    back === null ? [outbound] : [outbound, back],
  )
  const story: Story = { checks, fares, beliefs: [], rules }
  for (const i of checks.keys()) {
    const before = beliefBefore(story, i)
    const tails = tailsAt(story, i)
    const isAdopted =
      tails !== null && (tails.same >= tails.answers || tails.alike >= Math.max(3, tails.answers))
    const agrees = kindOf(before.fare, fareAt(story, i)) === null
    story.beliefs.push(
      isAdopted
        ? { fare: adopted(story, i, tails), at: i }
        : agrees
          ? { ...before, fare: before.fare.map((leg, at) => sited(leg, fareAt(story, i)[at])) }
          : before,
    )
  }
  return story
}

function beliefBefore({ beliefs, fares }: Story, i: number): Believed {
  return beliefs[i - 1] ?? { fare: (fares[0] ?? []).map(() => 'nothing'), at: -1 }
}

function fareAt({ fares }: Story, i: number): Fare {
  return fares[i] ?? []
}

/**
 * A price that comes with another change, and that the answers before it did not show, is not believed; nor is another
 * flight that comes with the loss of the other leg.
 */
function adopted(
  story: Story,
  i: number,
  { kind, alike, before = i }: Omit<Tails, 'answers' | 'same'>,
): Fare {
  const fare = shownAt(story, i)
  if (kind === 'loss') {
    const last = before === i ? [] : fareAt(story, before)
    const believed = beliefBefore(story, i).fare
    return fare.map((leg, at) => {
      const was = believed[at] ?? 'nothing'
      const shown = fareAt(story, i)[at]
      const isOther = typeof shown === 'object' && was !== 'nothing' && !sameFlight(shown, was)
      const isKept = isOther && !sameFlight(shown, last[at])
      return isKept ? was : leg
    })
  }
  const isOther = alike > 1 && !near(bare(fareAt(story, before)), fare, 0.2)
  return kind !== 'price' && isOther ? fare.map(withoutPrice) : fare
}

function sameFlight(one: LegAnswer | undefined, other: LegAnswer | undefined): boolean {
  if (typeof one !== 'object' || typeof other !== 'object') return one === other
  const isOther = (['identity', 'itinerary', 'site'] as const).some((field) =>
    differIn(field, one, other),
  )
  return !isOther
}

function differIn(
  field: 'identity' | 'itinerary' | 'site',
  one: LegAnswer | undefined,
  other: LegAnswer | undefined,
): boolean {
  if (typeof one !== 'object' || typeof other !== 'object') return false
  return one[field] !== null && other[field] !== null && one[field] !== other[field]
}

/** A leg that shows no site, with the one that is known of the same flight. */
function sited(leg: LegAnswer, known: LegAnswer | undefined): LegAnswer {
  if (typeof leg !== 'object' || typeof known !== 'object') return leg
  return leg.identity === known.identity ? { ...leg, site: leg.site ?? known.site } : leg
}

function shownAt(story: Story, i: number): Fare {
  const believed = beliefBefore(story, i).fare
  return bare(
    fareAt(story, i).map((leg, at) =>
      leg === 'nothing' ? (believed[at] ?? leg) : sited(leg, believed[at]),
    ),
  )
}

/** A fare that is not bookable has no prices. */
function bare(fare: Fare): Fare {
  return pairOf(fare) === 'bookable' ? fare : fare.map(withoutPrice)
}

function untimed(leg: LegAnswer): LegAnswer {
  return typeof leg === 'string' ? leg : { ...leg, itinerary: '', site: null }
}

function withoutPrice(leg: LegAnswer): LegAnswer {
  return typeof leg === 'string' ? leg : { ...leg, price: null }
}

function hasPrices(fare: Fare): boolean {
  return pricesOf(fare).length === fare.length
}

function pairOf(fare: Fare): string {
  if (fare.includes('unavailable')) return 'not_bookable'
  return fare.includes('nothing') ? 'unknown' : 'bookable'
}

/** The first difference by rank; null where the answer agrees, and 'silent' where it says nothing of the whole fare. */
function kindOf(believed: Fare, fare: Fare): Kind | 'silent' | null {
  const legs = fare.map((is, at) => [believed[at] ?? 'nothing', is] as const)
  if (legs.some(([was, is]) => is === 'unavailable' && was !== 'unavailable')) return 'loss'
  if (fare.includes('nothing')) return 'silent'
  if (legs.some(([was, is]) => typeof is === 'object' && typeof was !== 'object')) return 'gain'
  const differing = (['identity', 'itinerary', 'site'] as const).find((field) =>
    legs.some(([was, is]) => differIn(field, was, is)),
  )
  if (differing !== undefined) return differing
  if (pairOf(fare) !== 'bookable' || pricesOf(fare).length < fare.length) return null
  return samePrices(believed, fare) ? null : 'price'
}

function pricesOf(fare: Fare): Money[] {
  return fare.flatMap((leg) => (typeof leg === 'object' && leg.price !== null ? [leg.price] : []))
}

function priceOfLeg(leg: LegAnswer | undefined): Money | null {
  return typeof leg === 'object' ? leg.price : null
}

function samePrices(one: Fare, other: Fare): boolean {
  return one.every((leg, at) => sameMoney(priceOfLeg(leg), priceOfLeg(other[at])))
}

function sumOf(fare: Fare): Money | null {
  const prices = pricesOf(fare)
  return pairOf(fare) === 'bookable' && prices.length === fare.length ? sumMoney(prices) : null
}

/** Whether every leg and the sum have prices that differ by at most a part, or none in both. */
function near(one: Fare, other: Fare, part: number): boolean {
  const pairs = one.map((leg, at) => [priceOfLeg(leg), priceOfLeg(other[at])] as const)
  return [...pairs, [sumOf(one), sumOf(other)] as const].every(([from, to]) => {
    if (from === null || to === null) return from === to
    const difference = Math.abs(Number(to.amount) - Number(from.amount))
    return from.currency === to.currency && difference <= part * Number(from.amount) + 1e-9
  })
}

function sameAtAnyPrice(one: Fare, other: Fare): boolean {
  return one.every((a, at) => {
    const b = other[at]
    const currencies = [a, b].map((leg) => priceOfLeg(leg)?.currency ?? null)
    return sameFlight(a, b) && currencies[0] === currencies[1]
  })
}

function agree(story: Story, [first, second]: readonly [number, number], kind: Kind) {
  const believed = beliefBefore(story, second).fare
  const [one, other] = [bare(fareAt(story, first)), bare(fareAt(story, second))]
  if (kind === 'loss') {
    const same = one.some(
      (leg, at) =>
        leg === 'unavailable' && other[at] === 'unavailable' && believed[at] !== 'unavailable',
    )
    return { same, alike: same }
  }
  const same = sameAtAnyPrice(one, other) && near(one, other, 0.2)
  return { same, alike: sameAtAnyPrice(one.map(untimed), other.map(untimed)) }
}

/** So many beliefs that records have replaced are kept. */
const MOST_REPLACED = 4

/** How many answers a contradiction needs, and how far apart in seconds. */
function needed(story: Story, i: number, kind: Kind): { answers: number; gap: number } {
  const { rules, checks, beliefs } = story
  const believed = beliefBefore(story, i).fare
  const fare = bare(fareAt(story, i))
  const moved = fare.flatMap((leg, at) => {
    const was = believed[at] ?? 'nothing'
    const isMoved =
      leg !== 'nothing' && (typeof leg === 'object' ? typeof was !== 'object' : was !== leg)
    return isMoved ? [was] : []
  })
  const isFirst = moved.length > 0 && moved.every((was) => was === 'nothing')
  const now = checks[i]?.askedAt.getTime() ?? 0
  const replacedAt = [...new Set(beliefs.map(({ at }) => at))]
    .filter((at) => at >= 0 && isRecorded(story, at))
    .filter((at) => !beliefBefore(story, at).fare.includes('nothing'))
  const undoes = replacedAt.slice(-MOST_REPLACED).some((at) => {
    if (now - (checks[at]?.askedAt.getTime() ?? 0) >= 600_000) return false
    const replaced = beliefBefore(story, at).fare
    const shown = shownAt(story, i)
    const [was, is] = hasPrices(replaced)
      ? [replaced, shown]
      : [replaced.map(withoutPrice), shown.map(withoutPrice)]
    const isSame = sameAtAnyPrice(was, is) && near(was, is, 0.2)
    return isSame && (kind !== 'price' || samePrices(replaced, shown))
  })
  const least = undoes ? 3 : 1
  if (kind === 'loss') {
    return { answers: Math.max(least, rules.lossConfirmations), gap: undoes ? 30 : 20 }
  }
  if (kind === 'gain' && isFirst) return { answers: 1, gap: 0 }
  if (kind === 'gain') {
    return { answers: Math.max(least, rules.gainConfirmations), gap: undoes ? 30 : 20 }
  }
  if (undoes) return { answers: 3, gap: 30 }
  if (kind !== 'price') return { answers: 2, gap: 20 }
  return near(believed, fare, 0.1) ? { answers: 1, gap: 0 } : { answers: 2, gap: 20 }
}

function isRecorded(story: Story, at: number): boolean {
  return namesAt(story, at).length > 0
}

interface Run {
  readonly first: number
  /** Those that count: each so long after the one before it as the kind needs. */
  readonly counted: readonly number[]
}

/**
 * The answers up to this one that contradict the same belief in the same way, without one that agrees. One that agrees
 * with the belief and with what they show says nothing.
 */
function runOf(story: Story, i: number, kind: Kind): Run {
  const { checks } = story
  const timeOf = (at: number) => checks[at]?.askedAt.getTime() ?? 0
  let first = i
  let counted: number[] = []
  for (let j = beliefBefore(story, i).at + 1; j <= i; j += 1) {
    const earlier = kindOf(beliefBefore(story, j).fare, fareAt(story, j))
    if (earlier === 'silent') continue
    const last = counted.at(-1)
    const shown = last === undefined ? null : bare(fareAt(story, last))
    if (earlier === null && shown !== null && kindOf(shown, fareAt(story, j)) === null) continue
    if (earlier !== kind) counted = []
    else if (last === undefined) first = j
    if (earlier !== kind) continue
    const gapMs = needed(story, j, kind).gap * 1_000
    if (last === undefined || timeOf(j) - timeOf(last) >= gapMs) counted.push(j)
  }
  return { first, counted }
}

interface Tails {
  readonly kind: Kind
  /** How many answers in a row, up to this one, show it: at the same price, and at any. */
  readonly same: number
  readonly alike: number
  /** The counted answer before. */
  readonly before: number | undefined
  /** How many it needs. */
  readonly answers: number
}

/** The counted answers that contradict the belief as this one does; null where this one counts for none. */
function tailsAt(story: Story, i: number): Tails | null {
  const kind = kindOf(beliefBefore(story, i).fare, fareAt(story, i))
  if (kind === null || kind === 'silent') return null
  const { counted } = runOf(story, i, kind)
  if (counted.at(-1) !== i) return null
  const tail = (of: 'same' | 'alike') => {
    let length = 1
    for (let k = counted.length - 1; k > 0; k -= 1) {
      if (!agree(story, [counted[k - 1] ?? i, counted[k] ?? i], kind)[of]) break
      length += 1
    }
    return length
  }
  const { answers } = needed(story, i, kind)
  return {
    kind,
    same: tail('same'),
    alike: tail('alike'),
    before: counted.at(-2),
    answers,
  }
}

function isGood(story: Story, i: number): boolean {
  const fare = fareAt(story, i)
  if (fare.includes('nothing')) return false
  const kind = kindOf(story.beliefs[i]?.fare ?? [], fare)
  return kind === null || kind === 'price'
}

function namesAt(story: Story, i: number): string[] {
  const now = story.beliefs[i]
  if (now?.at !== i) return []
  const was = beliefBefore(story, i).fare
  const is = now.fare
  if (was.every((leg) => leg === 'nothing')) return ['first_seen']
  const pairs = is.map((leg, at) => [was[at] ?? 'nothing', leg] as const)
  const differ = (field: 'identity' | 'itinerary' | 'site') =>
    pairs.some(([a, b]) => differIn(field, a, b))
  const moved = pairs.some(
    ([a, b]) => (typeof a === 'object' ? 'yes' : a) !== (typeof b === 'object' ? 'yes' : b),
  )
  if (pairOf(was) !== pairOf(is) && pairOf(is) === 'bookable') return ['became_available']
  if (pairOf(was) !== pairOf(is) && pairOf(was) === 'bookable') return ['became_unavailable']
  const names = differ('identity') ? ['identity_changed'] : []
  if (moved) names.push('legs_changed')
  if (differ('identity')) return names
  if (differ('itinerary')) names.push('itinerary_changed')
  if (differ('site')) names.push('site_changed')
  const isPriced = pairOf(is) === 'bookable' && pricesOf(is).length === is.length
  return isPriced && !samePrices(was, is) ? [...names, 'price_changed'] : names
}

function changesAt(story: Story, i: number): ExpectedChange[] {
  const now = story.beliefs[i]
  if (now?.at !== i) return []
  const kind = kindOf(beliefBefore(story, i).fare, fareAt(story, i))
  const first = kind === null || kind === 'silent' ? i : runOf(story, i, kind).first
  const timeOf = (at: number) => story.checks[at]?.askedAt.toISOString() ?? null
  const good = story.checks.findLastIndex((_, at) => at < i && isGood(story, at))
  return namesAt(story, i).map((name) => ({
    kind: name,
    detectedAt: timeOf(first) ?? '',
    lastGoodCheckAt: timeOf(name === 'price_changed' ? lastPriced(story, i) : good),
    pair: pairOf(now.fare),
    price: sumOf(now.fare),
  }))
}

/** The last check before another that showed the believed price; -1 where none is believed. */
function lastPriced(story: Story, i: number): number {
  const { fare, at } = beliefBefore(story, i)
  if (pricesOf(fare).length < fare.length) return -1
  for (let j = i - 1; j >= at; j -= 1) {
    const answer = fareAt(story, j)
    const kind = kindOf(beliefBefore(story, j).fare, answer)
    if (j === at || (kind === null && pricesOf(answer).length === fare.length)) return j
  }
  return -1
}
