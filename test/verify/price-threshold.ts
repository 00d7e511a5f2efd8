import { type Money, sameMoney, toCents } from '../../src/base/money.ts'

/** Decimal text, not negative; null: not set. */
export interface PriceThresholds {
  /** In the currency of the price. */
  readonly amount: string | null
  /** Of the price that was told last. */
  readonly percent: string | null
}

const DECIMAL = /^(\d+)(?:\.(\d+))?$/

/**
 * Whether a watch is told of a price: it differs from the one told last by as much as either of its thresholds
 * asks, or at all where it has none. What cannot be measured is told: a first price, another currency, a pair
 * that has no single price. Exact. Throws RangeError for a threshold that is no decimal number.
 * @example priceMoved(100 EUR, 105 EUR, { amount: null, percent: '5' }) // true
 */
export function priceMoved(
  told: Money | null,
  now: Money | null,
  { amount, percent }: PriceThresholds,
): boolean {
  if (told === null || now === null || told.currency !== now.currency) return true
  if (sameMoney(told, now)) return false
  if (amount === null && percent === null) return true
  const toldCents = toCents(told.amount)
  const nowCents = toCents(now.amount)
  const movedCents = nowCents > toldCents ? nowCents - toldCents : toldCents - nowCents
  return (
    (amount !== null && atLeast(movedCents, amount, 100n)) ||
    // moved >= percent / 100 * told, without a division
    (percent !== null && atLeast(movedCents * 100n, percent, toldCents))
  )
}

/** Whether `value >= decimal * factor`, by whole numbers alone. */
function atLeast(value: bigint, decimal: string, factor: bigint): boolean {
  const [, whole, fraction = ''] = DECIMAL.exec(decimal) ?? []
  if (whole === undefined) throw new RangeError(`not a threshold: ${decimal}`)
  const scale = 10n ** BigInt(fraction.length)
  return value * scale >= BigInt(whole + fraction) * factor
}
