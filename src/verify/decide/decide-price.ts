import { type Money, sameMoney, toCents } from '../../base/money.ts'
import { type LegPrice, type LegState, NO_PRICE } from './fare-state.ts'

/** An answer that shows the flight of a leg. */
export interface PriceAnswer {
  /** Null if the price is unreadable. */
  readonly seen: Money | null
  readonly askedAt: string
  /** The second answer with a doubtful price counts this long after the first. */
  readonly countGapMs: number
  /** Whether the pair was believed bookable before the check: then its price is shown. */
  readonly wasBookable: boolean
  /** Whether an incident keeps unusual prices from being believed. */
  readonly holds: boolean
}

export interface PriceStep {
  readonly after: LegPrice
  /** When an answer first showed the new price; null where the believed price did not change. */
  readonly detectedAt: string | null
  /** Whether the incident alone keeps the price of the answer from being believed. */
  readonly held: boolean
}

/**
 * Decides what the price of an answer means for a leg that is believed available.
 *
 * An unreadable price changes nothing of a price that is shown. Another currency, or a change by more than half, is believed
 * when a second answer shows the same price: it may be a fault of the upstream. Any other price is believed at once, and so is
 * every price while no pair is shown that it would change. An incident holds prices far from the believed one, and those that
 * cannot be compared with one.
 */
export function decidePrice(
  { price, pricedAt, candidatePrice }: LegState,
  { seen, askedAt, countGapMs, wasBookable, holds }: PriceAnswer,
): PriceStep {
  const known = { price, pricedAt, candidatePrice }
  // A record that the pair became bookable must show no price that its answer did not.
  const kept = wasBookable ? known : NO_PRICE
  if (seen === null) return unchanged({ ...kept, priceReason: 'unreadable' })
  const shown = { ...NO_PRICE, price: seen, pricedAt: askedAt }
  if (sameMoney(seen, price)) return unchanged({ ...shown, price })
  const believed = wasBookable ? price : null
  const isSecond = candidatePrice !== null && sameMoney(seen, candidatePrice.price)
  const firstSeenAt = isSecond ? candidatePrice.firstSeenAt : askedAt
  const waitedMs = Date.parse(askedAt) - Date.parse(firstSeenAt)
  const isConfirmed =
    believed === null || !isDoubtful(seen, believed) || (isSecond && waitedMs >= countGapMs)
  const isHeld = holds && (believed === null || isUnusual(seen, believed))
  if (isConfirmed && !isHeld) return { ...unchanged(shown), detectedAt: firstSeenAt }
  const candidate = { price: seen, firstSeenAt }
  const pending = { ...kept, priceReason: 'unconfirmed', candidatePrice: candidate } as const
  return { ...unchanged(pending), held: isConfirmed }
}

function unchanged(after: LegPrice): PriceStep {
  return { after, detectedAt: null, held: false }
}

/** Whether one answer with this price does not suffice. */
export function isDoubtful(seen: Money, believed: Money): boolean {
  return isFurther(seen, believed, 50n)
}

/**
 * Whether no market changes many prices so far at once. Smaller changes are no sign of wrong answers: a tax or a surcharge
 * changes all prices of an airline together.
 */
export function isUnusual(seen: Money, believed: Money): boolean {
  return isFurther(seen, believed, 20n)
}

/** Whether the currency differs, or the amount by more than this share of the believed one. */
function isFurther(seen: Money, believed: Money, percent: bigint): boolean {
  if (seen.currency !== believed.currency) return true
  const before = toCents(believed.amount)
  const difference = toCents(seen.amount) - before
  return 100n * (difference < 0n ? -difference : difference) > percent * before
}
