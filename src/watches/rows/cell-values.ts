import { WATCH_PRIORITIES, type WatchPriority } from '../../platform/base/kinds.ts'
import { quote } from '../../platform/base/text.ts'
import { MAX_PASSENGERS } from '../../upstream/passenger-rules.ts'

export type Parsed<T> = { readonly value: T } | { readonly error: string }

/** A fare that is checked less than once a month is not watched. */
const MAX_INTERVAL_SECONDS = 30 * 86_400

const WHOLE = /^\d{1,15}$/
const DECIMAL = /^\d{1,12}(\.\d{1,4})?$/
const DATE = /^\d{4}-\d{2}-\d{2}$/

export function parseCount(text: string): Parsed<number> {
  return parseWhole(text, { min: 0, max: MAX_PASSENGERS })
}

/** Reads `min_interval_seconds` or `max_delay_seconds`. */
export function parseInterval(text: string): Parsed<number> {
  return parseWhole(text, { min: 1, max: MAX_INTERVAL_SECONDS })
}

function parseWhole(text: string, { min, max }: { min: number; max: number }): Parsed<number> {
  const value = Number(text)
  if (WHOLE.test(text) && value >= min && value <= max) return { value }
  return { error: `must be a whole number from ${min} to ${max}, not ${quote(text)}` }
}

export function parsePriority(text: string): Parsed<WatchPriority> {
  const value = WATCH_PRIORITIES.find((priority) => priority === text)
  if (value !== undefined) return { value }
  return { error: `must be low, normal, high or urgent, not ${quote(text)}` }
}

/** Reads a decimal as text without superfluous zeros, so that equal thresholds have equal texts. */
export function parseDecimal(text: string): Parsed<string> {
  if (DECIMAL.test(text)) return { value: canonicalDecimal(text) }
  return { error: `must be a decimal number of 0 or more such as 12.50, not ${quote(text)}` }
}

/** @example canonicalDecimal('05.50') // '5.5' */
function canonicalDecimal(text: string): string {
  const [whole = '', fraction = ''] = text.split('.')
  const shortWhole = whole.replace(/^0+(?=\d)/, '')
  const shortFraction = fraction.replace(/0+$/, '')
  return shortFraction === '' ? shortWhole : `${shortWhole}.${shortFraction}`
}

export function parseDate(text: string): Parsed<string> {
  if (isDate(text)) return { value: text }
  return { error: `must be a date such as 2026-01-31, not ${quote(text)}` }
}

/** JavaScript reads 2026-02-30 as the second of March, and PostgreSQL has no year 0. */
function isDate(text: string): boolean {
  if (!DATE.test(text) || text.startsWith('0000')) return false
  const date = new Date(`${text}T00:00:00Z`)
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(text)
}

/**
 * A spreadsheet runs a cell that begins like a formula. In CSV such a text is written behind an apostrophe, which
 * spreadsheets hide and reading removes. A text that begins with an apostrophe gets a second one, so that it is read
 * back as it was.
 */
const FORMULA = /^[=+\-@＝＋－＠']/
const ESCAPED = /^'(?=[=+\-@＝＋－＠'])/

export function escapeFormula(text: string): string {
  return FORMULA.test(text) ? `'${text}` : text
}

export function unescapeFormula(text: string): string {
  return text.replace(ESCAPED, '')
}
