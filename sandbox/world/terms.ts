/** The types of passengers: how a price names each, which share of an adult's fare it pays, and whether it has a seat. */
export const PASSENGER_TYPES = {
  adults: { priced: 'adult', share: 1, hasSeat: true },
  children: { priced: 'child', share: 0.75, hasSeat: true },
  infants: { priced: 'infant', share: 0.1, hasSeat: false },
} as const

export type PassengerType = keyof typeof PASSENGER_TYPES
export type PassengerCounts = Readonly<Record<PassengerType, number>>

/** What a verify request says besides its flights. */
export interface Terms {
  readonly residents: PassengerCounts
  readonly nonResidents: PassengerCounts
}

export const TYPE_NAMES = Object.keys(PASSENGER_TYPES) as PassengerType[]

interface TermField {
  /** Its parameter. The names in it lead to its place in the terms. */
  readonly wire: string
  readonly isRequired: boolean
  /** Reads the text of the parameter; undefined if it is absent. */
  readonly read: (text: unknown) => unknown
  /** What the read value must be, if it is not that. */
  readonly brokenRule: (value: unknown) => string | undefined
}

const MAX_PASSENGERS = 12

/** assumption: numeric means a decimal number. "1e1", "0x2" and the empty text are not numeric. */
const NUMERIC = /^\s*[+-]?\d+(\.\d+)?\s*$/

const TERM_FIELDS: readonly TermField[] = ['residents', 'nonResidents'].flatMap((group) =>
  TYPE_NAMES.map((type) => ({
    wire: `${group}[${type}]`,
    isRequired: type === 'adults',
    read: (text: unknown) =>
      typeof text === 'string' && NUMERIC.test(text) ? Number(text) + 0 : 0,
    brokenRule: (count: unknown) =>
      Number.isInteger(count) && Number(count) >= 0 && Number(count) <= MAX_PASSENGERS
        ? undefined
        : `an integer from 0 to ${MAX_PASSENGERS}`,
  })),
)

/**
 * Reads the terms of a verify request and checks them against the rules.
 *
 * A non-numeric count counts as absent. An absent count is 0.
 * assumption: both counts of adults are required, but may be non-numeric; a numeric value that is not an integer
 * from 0 to 12 breaks a rule; of a repeated parameter the last value counts.
 */
export function readTerms(
  query: Readonly<Record<string, unknown>>,
): { readonly terms: Terms } | { readonly brokenRule: string } {
  const missing = TERM_FIELDS.find(
    ({ wire, isRequired }) => isRequired && query[wire] === undefined,
  )
  if (missing) return { brokenRule: `${missing.wire} is required` }

  const read: Record<string, unknown> = {}
  for (const field of TERM_FIELDS) {
    const sent = query[field.wire]
    const value = field.read(Array.isArray(sent) ? sent.at(-1) : sent)
    const rule = field.brokenRule(value)
    if (rule !== undefined) return { brokenRule: `${field.wire} must be ${rule}` }
    const [name = '', inner] = field.wire.split(/[[\]]/)
    read[name] = inner === undefined ? value : { ...(read[name] as object), [inner]: value }
  }
  const terms = read as unknown as Terms
  const total = (type: PassengerType) => terms.residents[type] + terms.nonResidents[type]
  if (total('adults') < 1) return { brokenRule: 'there must be at least one adult' }
  if (total('infants') > total('adults')) return { brokenRule: 'infants must not outnumber adults' }
  return { terms }
}
