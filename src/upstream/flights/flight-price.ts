import { type Money, parseMoney } from '../../base/money.ts'
import type { AnswerAnomaly, PassengerMix } from '../observation.ts'
import { isFields } from './flight-fields.ts'

/** The possible rounding error of each passenger's price. */
const ROUNDING = 0.01
/** Far below a cent, and far above the error of adding a few doubles. */
const EPSILON = 1e-6

const GROUPS = ['residents', 'nonResidents'] as const
/** The names of the passenger types in a question and in a price. */
const TYPES = [
  ['adults', 'adult'],
  ['children', 'child'],
  ['infants', 'infant'],
] as const

/**
 * Reads the price of a flight: its total, or null if the total is unreadable, and the anomalies of the rest.
 *
 * The prices of the categories are only compared with the total, so floats suffice for them.
 */
export function readPrice(
  price: unknown,
  mix: PassengerMix,
): { price: Money | null; anomalies: AnswerAnomaly[] } {
  const fields = isFields(price) ? price : {}
  const total = parseMoney(fields.total, fields.currency)
  const anomalies: AnswerAnomaly[] = total === null ? ['price_unreadable'] : []
  const categories = categoriesOf(fields, mix)
  if (categories.some(({ count, each }) => count > 0 !== (each !== undefined))) {
    anomalies.push('categories_unlike_request')
  } else if (total !== null && !addsUp(total, categories)) anomalies.push('total_unlike_sum')
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

function amountOf(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined
}

function addsUp(total: Money, categories: readonly Category[]): boolean {
  const passengers = categories.reduce((sum, { count }) => sum + count, 0)
  const expected = categories.reduce((sum, { count, each = 0 }) => sum + count * each, 0)
  return Math.abs(expected - Number(total.amount)) <= passengers * ROUNDING + EPSILON
}
