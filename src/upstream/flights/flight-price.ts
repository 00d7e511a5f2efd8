import { type Money, parseMoney, toCents } from '../../platform/base/money.ts'
import type { AnswerAnomaly, PassengerMix } from '../observation.ts'
import { isFields } from './flight-fields.ts'

/** The possible rounding error of each passenger's price. */
const ROUNDING = 0.01
/** Far below a cent, and far above the error of adding a few doubles. */
const EPSILON = 1e-6

/** The currencies of ISO 4217 that this runtime knows. The code XXX, which stands for no currency, is not among them. */
const CURRENCIES = new Set(Intl.supportedValuesOf('currency'))

const GROUPS = ['residents', 'nonResidents'] as const
/** The names of the passenger types in a question and in a price. */
const TYPES = [
  ['adults', 'adult'],
  ['children', 'child'],
  ['infants', 'infant'],
] as const

/**
 * Reads the price of a flight: its total, or null if the total is unreadable or impossible, and the anomalies of the
 * rest. Impossible are an unknown currency, and a total of zero unless the price of every passenger is the number zero.
 *
 * The prices of the categories are only compared with the total, so floats suffice for them.
 */
export function readPrice(
  price: unknown,
  mix: PassengerMix,
): { price: Money | null; anomalies: AnswerAnomaly[] } {
  const fields = isFields(price) ? price : {}
  const categories = categoriesOf(fields, mix)
  const total = possibleTotal(parseMoney(fields.total, fields.currency), categories)
  const anomalies: AnswerAnomaly[] = total === null ? ['price_unreadable'] : []
  if (categories.some(({ count, each = 0 }) => count === 0 && each !== 0)) {
    anomalies.push('categories_unlike_request')
  }
  // The interface leaves out the price of a category that is not priced: then the parts do not add up to the total.
  const areAllPriced = categories.every(({ count, each }) => count === 0 || each !== undefined)
  if (total !== null && areAllPriced && !addsUp(total, categories))
    anomalies.push('total_unlike_sum')
  if (total !== null && toCents(total.amount) === 0n) anomalies.push('zero_price')
  return { price: total, anomalies }
}

interface Category {
  readonly count: number
  /** Price for each passenger. Undefined if there is none. */
  readonly each: number | undefined
}

function categoriesOf(price: Readonly<Record<string, unknown>>, mix: PassengerMix): Category[] {
  return GROUPS.flatMap((group) => {
    const prices = isFields(price[group]) ? price[group] : {}
    return TYPES.map(([counted, priced]) => ({
      count: mix[group][counted],
      each: amountOf(prices[priced]),
    }))
  })
}

function possibleTotal(total: Money | null, categories: readonly Category[]): Money | null {
  if (total === null || !CURRENCIES.has(total.currency)) return null
  const isFree = categories.every(({ count, each }) => count === 0 || each === 0)
  return toCents(total.amount) > 0n || isFree ? total : null
}

function amountOf(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined
}

function addsUp(total: Money, categories: readonly Category[]): boolean {
  const passengers = categories.reduce((sum, { count }) => sum + count, 0)
  const expected = categories.reduce((sum, { count, each = 0 }) => sum + count * each, 0)
  return Math.abs(expected - Number(total.amount)) <= passengers * ROUNDING + EPSILON
}
