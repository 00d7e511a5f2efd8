/** The passengers of one group, by type. */
export interface PassengerCounts {
  readonly adults: number
  readonly children: number
  readonly infants: number
}

export interface PassengerMix {
  readonly residents: PassengerCounts
  readonly nonResidents: PassengerCounts
}

const MAX_PASSENGERS = 12

type MixOutcome = { readonly mix: PassengerMix } | { readonly brokenRule: string }

/** assumption: numeric means a decimal number. "1e1", "0x2" and the empty text are not numeric. */
const NUMERIC = /^\s*[+-]?\d+(\.\d+)?\s*$/

/**
 * Reads the six counts of a verify request and checks them against the passenger rules.
 *
 * A non-numeric value counts as absent. An absent count is 0.
 * assumption: both counts of adults are required, but may be non-numeric; a numeric value that is not an integer
 * from 0 to 12 breaks a rule; of a repeated parameter the last value counts.
 */
export function readMix(query: Readonly<Record<string, unknown>>): MixOutcome {
  for (const name of ['residents[adults]', 'nonResidents[adults]']) {
    if (query[name] === undefined) return { brokenRule: `${name} is required` }
  }
  const wrong = COUNT_NAMES.find((name) => !isCount(readCount(query[name])))
  if (wrong) return { brokenRule: `${wrong} must be an integer from 0 to ${MAX_PASSENGERS}` }

  const mix = {
    residents: readGroup(query, 'residents'),
    nonResidents: readGroup(query, 'nonResidents'),
  }
  const total = (type: keyof PassengerCounts) => mix.residents[type] + mix.nonResidents[type]
  if (total('adults') < 1) return { brokenRule: 'there must be at least one adult' }
  if (total('infants') > total('adults')) return { brokenRule: 'infants must not outnumber adults' }
  return { mix }
}

const COUNT_NAMES = ['residents', 'nonResidents'].flatMap((group) =>
  ['adults', 'children', 'infants'].map((type) => `${group}[${type}]`),
)

function readGroup(query: Readonly<Record<string, unknown>>, group: string): PassengerCounts {
  return {
    adults: readCount(query[`${group}[adults]`]),
    children: readCount(query[`${group}[children]`]),
    infants: readCount(query[`${group}[infants]`]),
  }
}

function readCount(value: unknown): number {
  const text: unknown = Array.isArray(value) ? value.at(-1) : value
  return typeof text === 'string' && NUMERIC.test(text) ? Number(text) : 0
}

function isCount(count: number): boolean {
  return Number.isInteger(count) && count >= 0 && count <= MAX_PASSENGERS
}
