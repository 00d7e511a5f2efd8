import { type Money, sameMoney, toCents } from '../../src/platform/base/money.ts'

/** The smallest differences that count: decimal text, not negative. Null if there is no threshold. */
export interface PriceThresholds {
  /** An amount in the currency of the price. */
  readonly amount: string | null
  /** Percent of the price in the last record. */
  readonly percent: string | null
}

const DECIMAL = /^(\d+)(?:\.(\d+))?$/

/**
 * Whether a price passes the thresholds of a watch: it differs from the price of the last record by at least one of them,
 * or at all where there is none. A price that cannot be compared passes: a first one, one in another currency, a pair
 * without a single price. Exact. Throws RangeError for a threshold that is not a decimal number.
 * @example priceMoved(100 EUR, 105 EUR, { amount: null, percent: '5' }) // true
 */
export function priceMoved(
  last: Money | null,
  now: Money | null,
  { amount, percent }: PriceThresholds,
): boolean {
  if (last === null || now === null || last.currency !== now.currency) return true
  if (sameMoney(last, now)) return false
  if (amount === null && percent === null) return true
  const lastCents = toCents(last.amount)
  const nowCents = toCents(now.amount)
  const movedCents = nowCents > lastCents ? nowCents - lastCents : lastCents - nowCents
  return (
    (amount !== null && atLeast(movedCents, amount, 100n)) ||
    // moved >= percent / 100 * last, without a division
    (percent !== null && atLeast(movedCents * 100n, percent, lastCents))
  )
}

/** Whether `value >= decimal * factor`, by whole numbers alone. */
function atLeast(value: bigint, decimal: string, factor: bigint): boolean {
  const [, whole, fraction = ''] = DECIMAL.exec(decimal) ?? []
  if (whole === undefined) throw new RangeError(`not a threshold: ${decimal}`)
  const scale = 10n ** BigInt(fraction.length)
  return value * scale >= BigInt(whole + fraction) * factor
}
