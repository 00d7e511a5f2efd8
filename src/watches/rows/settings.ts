import { WATCH_PRIORITIES, type WatchPriority } from '../../platform/base/kinds.ts'
import { type Money, parseAmount } from '../../platform/base/money.ts'
import { quote } from '../../platform/base/text.ts'
import { type FieldValue, type Parsed, parseWhole, setField } from '../../upstream/question.ts'

/** What a watch says besides its question. Null is a setting that it does not have. */
export interface WatchSettings {
  /** Decimal text without superfluous zeros. If null, the reseller is notified of every change of the price. */
  readonly priceThresholdAmount: string | null
  readonly priceThresholdPercent: string | null
  /** `YYYY-MM-DD`; null if the reseller did not give it. */
  readonly departsOn: string | null
  readonly minIntervalSeconds: number | null
  readonly priority: WatchPriority
  /** The longest expected interval between two checks; null if the reseller set none. */
  readonly maxDelaySeconds: number | null
  /** If null, the thresholds decide which prices are notified. */
  readonly intents: Intents | null
  /** What a watch of a route is of; null in a watch of a fare. */
  readonly route: WatchedRoute | null
}

/** A pair of IATA codes. */
export interface WatchedRoute {
  readonly departure: string
  readonly destination: string
  /** Whether the route back is watched too. */
  readonly eitherDirection?: boolean
}

/** What a watch wants of a price. */
export interface Intents {
  readonly priceBelow?: Money
  /** Below what was paid, by an amount or a percentage. */
  readonly priceDrop?: { readonly paid: Money; readonly amount?: string; readonly percent?: string }
  /** Below all prices of so many days. */
  readonly newLowDays?: number
}

/** The settings as a request gives them. What it leaves out has its default. */
export type SettingsInput = {
  readonly [K in keyof WatchSettings]?: WatchSettings[K] | null | undefined
}

/** A setting, and how each surface names it. Everything that knows the settings reads this list. */
export interface SettingField<C extends string = string> {
  /** In SQL and in the files of watch lists. */
  readonly column: C
  /** Its members in the JSON of requests and answers. */
  readonly path: readonly string[]
  readonly label: string
  /** What a caller reads of it. */
  readonly about: string
  readonly sqlType: 'numeric' | 'integer' | 'date' | 'text' | 'boolean'
  /** The JSON schema of its values. */
  readonly schema: {
    readonly type: 'string' | 'integer' | 'boolean'
    readonly enum?: readonly string[]
    readonly format?: 'date'
  }
  /** What its absence means. */
  readonly default: FieldValue
  /** From this depth of its path on, each object has it. Without, an object may lack it. */
  readonly neededAt?: number
  /** A value as an example in the page's form. */
  readonly hint: string
  /** Reads a cell that is not empty. An error follows the column in a sentence. */
  readonly parse: (text: string) => Parsed<FieldValue>
}

function setting<const C extends string>(
  column: C,
  path: readonly string[],
  rest: Omit<SettingField, 'column' | 'path' | 'default' | 'hint'> &
    Partial<Pick<SettingField, 'default' | 'hint'>>,
): SettingField<C> {
  return { column, path, default: null, hint: '', ...rest }
}

const DECIMAL = { sqlType: 'numeric', schema: { type: 'string' }, parse: parseDecimal } as const
const AMOUNT = {
  sqlType: 'numeric',
  schema: { type: 'string' },
  parse: parsePositiveAmount,
  hint: 'such as 80.00',
} as const
const CURRENCY = {
  sqlType: 'text',
  schema: { type: 'string' },
  parse: parseCurrency,
  neededAt: 2,
  about: 'Three capital letters.',
  hint: 'such as EUR',
} as const
const CODE = {
  sqlType: 'text',
  schema: { type: 'string' },
  parse: parseCode,
  neededAt: 1,
  hint: 'such as PMI',
} as const
const SECONDS = { sqlType: 'integer', schema: { type: 'integer' }, parse: parseInterval } as const

/** In the order of files. */
export const SETTING_FIELDS = [
  setting('price_threshold_amount', ['priceThresholdAmount'], {
    ...DECIMAL,
    label: 'Notify of price changes of at least',
    about: 'The smallest price change that you are notified of, such as `12.50`.',
    hint: 'amount, such as 12.50',
  }),
  setting('price_threshold_percent', ['priceThresholdPercent'], {
    ...DECIMAL,
    label: 'or of at least this percentage',
    about: 'Or the smallest change as a percentage of the last notified price, such as `5`.',
    hint: 'such as 5',
  }),
  setting('departs_on', ['departsOn'], {
    sqlType: 'date',
    schema: { type: 'string', format: 'date' },
    parse: parseDate,
    label: 'Day of departure',
    about:
      '`YYYY-MM-DD`. A day that has passed is an error, except in a watch that has this date and question already.',
  }),
  setting('min_interval_seconds', ['minIntervalSeconds'], {
    ...SECONDS,
    label: 'Seconds between two checks, at least',
    about: 'The shortest time between two checks for this watch, 1 to 2592000.',
  }),
  setting('priority', ['priority'], {
    sqlType: 'text',
    schema: { type: 'string', enum: WATCH_PRIORITIES },
    parse: parsePriority,
    default: 'normal',
    label: 'Priority',
    about:
      'How soon its changes should be detected, compared with your other watches: `low`, `normal`, `high` or `urgent` ' +
      '(weights 1, 2, 5 and 20). Left out or null: `normal`.',
  }),
  setting('max_delay_seconds', ['maxDelaySeconds'], {
    ...SECONDS,
    label: 'Seconds between two checks, at most',
    about:
      'The longest expected interval between two checks, up to 2592000, as far as your share of the budget allows.',
  }),
  setting('price_below_amount', ['intents', 'priceBelow', 'amount'], {
    ...AMOUNT,
    neededAt: 2,
    label: 'Notify of a price below',
    about: 'You are notified of a price below it, and again after the price was a hundredth above.',
  }),
  setting('price_below_currency', ['intents', 'priceBelow', 'currency'], {
    ...CURRENCY,
    label: 'in the currency',
  }),
  setting('paid_amount', ['intents', 'priceDrop', 'paid', 'amount'], {
    ...AMOUNT,
    neededAt: 2,
    label: 'Paid',
    about: 'What you paid.',
  }),
  setting('paid_currency', ['intents', 'priceDrop', 'paid', 'currency'], {
    ...CURRENCY,
    label: 'in the currency',
  }),
  setting('price_drop_amount', ['intents', 'priceDrop', 'amount'], {
    ...AMOUNT,
    label: 'Notify of a price lower than paid by at least',
    about: 'You are notified of a price that is lower by so much; or use `percent`.',
  }),
  setting('price_drop_percent', ['intents', 'priceDrop', 'percent'], {
    ...DECIMAL,
    parse: parsePercent,
    label: 'or by this percentage',
    about: 'You are notified of a price that is lower by so many percent.',
    hint: 'such as 5',
  }),
  setting('new_low_days', ['intents', 'newLowDays'], {
    sqlType: 'integer',
    schema: { type: 'integer' },
    parse: (text) => parseWhole(text, { min: 2, max: 365 }),
    label: 'Notify of the lowest price in so many days',
    about:
      'You are notified of a price below all of so many days, 2 to 365, if the history has them.',
  }),
  setting('departure', ['route', 'departure'], {
    ...CODE,
    label: 'Instead of a flight, a route from',
    about: 'The IATA code of the place where the route begins, in the place of a flight.',
  }),
  setting('destination', ['route', 'destination'], {
    ...CODE,
    label: 'to',
    about: 'The IATA code of the place where it ends.',
  }),
  setting('either_direction', ['route', 'eitherDirection'], {
    sqlType: 'boolean',
    schema: { type: 'boolean' },
    parse: parseYes,
    label: 'or back',
    about: 'Whether the route back is watched too.',
    hint: 'true or false',
  }),
] as const

/** The settings that say which route is watched. All others are about fares. */
export const ROUTE_FIELDS: readonly SettingField[] = SETTING_FIELDS.filter(
  ({ path }) => path[0] === 'route',
)

/** The settings with these values. */
export function settingsFrom(value: (field: SettingField) => FieldValue): WatchSettings {
  const settings = {}
  for (const field of SETTING_FIELDS as readonly SettingField[]) {
    const of = value(field)
    if (of !== null || field.path.length === 1) setField(settings, field, of)
  }
  return { intents: null, route: null, ...settings } as WatchSettings
}

/** What is wrong with intents, or with a route, whose values can be read. @param text of a cell; empty if it is missing. */
export function groupFaults(
  text: (column: string) => string,
): { readonly column: string; readonly message: string }[] {
  const missing = NEEDED.filter(([column, other]) => text(column) !== '' && text(other) === '')
  const faults = missing.map(([column, other]) => ({
    column: other,
    message: `is missing: ${column} is given`,
  }))
  const [paid, drop, percent] = ['paid_amount', 'price_drop_amount', 'price_drop_percent'].map(text)
  const drops = [drop, percent].filter((given) => given !== '').length
  const faultOfDrop = (message: string) => faults.push({ column: 'price_drop_amount', message })
  if (paid !== '' && drops !== 1)
    faultOfDrop('or price_drop_percent, not both, must be given with paid_amount')
  else if (paid !== '' && Number(drop) >= Number(paid))
    faultOfDrop(`must be less than paid_amount, ${paid}`)
  return faults
}

/** Which columns need which others. */
const NEEDED: readonly (readonly [column: string, other: string])[] = [
  ['price_below_amount', 'price_below_currency'],
  ['price_below_currency', 'price_below_amount'],
  ['paid_amount', 'paid_currency'],
  ['paid_currency', 'paid_amount'],
  ['price_drop_amount', 'paid_amount'],
  ['price_drop_percent', 'paid_amount'],
  ['departure', 'destination'],
  ['destination', 'departure'],
  ['either_direction', 'departure'],
]

function parsePositiveAmount(text: string): Parsed<string> {
  const value = parseAmount(text)
  if (value !== null && Number(value) > 0) return { value }
  return { error: `must be an amount above 0 such as 80.00, not ${quote(text)}` }
}

function parseCode(text: string): Parsed<string> {
  if (/^[A-Z0-9]{3}$/.test(text)) return { value: text }
  return { error: `must be an IATA code such as PMI, not ${quote(text)}` }
}

/** False is as good as missing. */
function parseYes(text: string): Parsed<boolean | null> {
  if (text === 'true' || text === 'false') return { value: text === 'true' || null }
  return { error: `must be true or false, not ${quote(text)}` }
}

function parseCurrency(text: string): Parsed<string> {
  if (/^[A-Z]{3}$/.test(text)) return { value: text }
  return { error: `must be three capital letters such as EUR, not ${quote(text)}` }
}

function parsePercent(text: string): Parsed<string> {
  const parsed = parseDecimal(text)
  if ('error' in parsed || (Number(parsed.value) > 0 && Number(parsed.value) < 100)) return parsed
  return { error: `must be above 0 and below 100, not ${quote(text)}` }
}

/** A fare that is checked less than once a month is not watched. */
const MAX_INTERVAL_SECONDS = 30 * 86_400

/** Reads `min_interval_seconds` or `max_delay_seconds`. */
function parseInterval(text: string): Parsed<number> {
  return parseWhole(text, { min: 1, max: MAX_INTERVAL_SECONDS })
}

function parsePriority(text: string): Parsed<WatchPriority> {
  const value = WATCH_PRIORITIES.find((priority) => priority === text)
  if (value !== undefined) return { value }
  return { error: `must be low, normal, high or urgent, not ${quote(text)}` }
}

const DECIMAL_TEXT = /^\d{1,12}(\.\d{1,4})?$/

/** Reads a decimal as text without superfluous zeros, so that equal thresholds have equal texts. */
function parseDecimal(text: string): Parsed<string> {
  if (DECIMAL_TEXT.test(text)) return { value: canonicalDecimal(text) }
  return { error: `must be a decimal number of 0 or more such as 12.50, not ${quote(text)}` }
}

/** @example canonicalDecimal('05.50') // '5.5' */
function canonicalDecimal(text: string): string {
  const [whole = '', fraction = ''] = text.split('.')
  const shortWhole = whole.replace(/^0+(?=\d)/, '')
  const shortFraction = fraction.replace(/0+$/, '')
  return shortFraction === '' ? shortWhole : `${shortWhole}.${shortFraction}`
}

function parseDate(text: string): Parsed<string> {
  if (isDate(text)) return { value: text }
  return { error: `must be a date such as 2026-01-31, not ${quote(text)}` }
}

const DATE = /^\d{4}-\d{2}-\d{2}$/

/** JavaScript reads 2026-02-30 as the second of March, and PostgreSQL has no year 0. */
function isDate(text: string): boolean {
  if (!DATE.test(text) || text.startsWith('0000')) return false
  const date = new Date(`${text}T00:00:00Z`)
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(text)
}
