/** An amount in one currency. `amount` is decimal text, the form of PostgreSQL's numeric; never a float. */
export interface Money {
  readonly amount: string
  /** Three capital letters. */
  readonly currency: string
}

const AMOUNT = /^\d{1,12}(\.\d{1,2})?$/
const CURRENCY = /^[A-Z]{3}$/

/** Parses a price of the upstream. Returns null if it is invalid: negative, NaN, three decimals, no currency. */
export function parseMoney(amount: unknown, currency: unknown): Money | null {
  if (typeof amount !== 'string' || !AMOUNT.test(amount)) return null
  if (typeof currency !== 'string' || !CURRENCY.test(currency)) return null
  return { amount: fromCents(toCents(amount)), currency }
}

/** An amount as decimal text with two decimals; null if it is invalid. */
export function parseAmount(text: string): string | null {
  return AMOUNT.test(text) ? fromCents(toCents(text)) : null
}

/** An amount and a currency of the database as a price; null unless both are there. */
export function moneyOf(amount: string | null, currency: string | null): Money | null {
  if (amount === null || currency === null) return null
  return { amount: fromCents(toCents(amount)), currency }
}

/** A row that has its price as the two columns of the database. */
export type PricedRow<Row> = Omit<Row, 'price'> & {
  readonly price: string | null
  readonly currency: string | null
}

/** The row with one price in place of the two columns. */
export function withPrice<Row extends PricedRow<object>>({ price, currency, ...row }: Row) {
  return { ...row, price: moneyOf(price, currency) }
}

/** The sum of amounts in one currency; null if the currencies differ or the list is empty. */
export function sumMoney(parts: readonly Money[]): Money | null {
  const [first] = parts
  if (first === undefined || parts.some((part) => part.currency !== first.currency)) return null
  const cents = parts.reduce((sum, part) => sum + toCents(part.amount), 0n)
  return { amount: fromCents(cents), currency: first.currency }
}

/** Whether two prices have the same amount and currency. Two missing prices are equal. */
export function sameMoney(a: Money | null, b: Money | null): boolean {
  if (a === null || b === null) return a === b
  return a.currency === b.currency && toCents(a.amount) === toCents(b.amount)
}

/** @example toCents('12.3') // 1230n */
export function toCents(amount: string): bigint {
  const [whole = '0', fraction = ''] = amount.split('.')
  return BigInt(whole) * 100n + BigInt(fraction.padEnd(2, '0'))
}

function fromCents(cents: bigint): string {
  return `${cents / 100n}.${(cents % 100n).toString().padStart(2, '0')}`
}
