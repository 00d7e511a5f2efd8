import { ProblemError } from '../../platform/http/problems.ts'
import type { PassengerMix, Question } from '../../upstream/observation.ts'
import {
  assertTwoFlights,
  MAX_PASSENGERS,
  violatedIdRule,
  violatedPassengerRule,
} from '../../upstream/passenger-rules.ts'

/** The six passenger counts of a request, by their parameter names. */
type CountParameters = Readonly<Partial<Record<CountName, string>>>

const GROUPS = ['residents', 'nonResidents'] as const
const TYPES = ['adults', 'children', 'infants'] as const
type CountName = `${(typeof GROUPS)[number]}[${(typeof TYPES)[number]}]`

export const COUNT_NAMES: readonly CountName[] = GROUPS.flatMap((group) =>
  TYPES.map((type) => `${group}[${type}]` as const),
)

/** A decimal number: "2", "+2", "2.0". Also "1.5", which is a number but not a valid count. */
const NUMERIC = /^\s*[+-]?\d+(\.\d+)?\s*$/

/** The counts that are not numbers. By the interface they are read as 0. */
export function ignoredCounts(given: CountParameters): CountName[] {
  return COUNT_NAMES.filter((name) => {
    const text = given[name]
    return text !== undefined && !NUMERIC.test(text)
  })
}

/**
 * Reads the passenger mix of a request. Missing and ignored counts are 0.
 * Throws a ProblemError that names the broken rule.
 */
export function readMix(given: CountParameters): PassengerMix {
  const count = (name: CountName) => {
    const text = given[name] ?? ''
    const number = NUMERIC.test(text) ? Number(text) : 0
    if (Number.isInteger(number) && number >= 0 && number <= MAX_PASSENGERS) return number
    throw new ProblemError('verify.passenger_rule', {
      parameter: name,
      detail: `${name} must be a whole number from 0 to ${MAX_PASSENGERS}`,
    })
  }
  const group = (name: (typeof GROUPS)[number]) => ({
    adults: count(`${name}[adults]`),
    children: count(`${name}[children]`),
    infants: count(`${name}[infants]`),
  })
  const mix = { residents: group('residents'), nonResidents: group('nonResidents') }
  const rule = violatedPassengerRule(mix)
  if (rule === undefined) return mix
  throw new ProblemError('verify.passenger_rule', { detail: rule })
}

/**
 * Builds the question from the flight ids of a request. Throws a ProblemError that names the id and its rule, or
 * SameFlightError.
 */
export function questionOf(
  { flightId, returnFlightId }: { flightId: string; returnFlightId?: string },
  passengers: PassengerMix,
): Question {
  for (const [parameter, id] of Object.entries({ flightId, returnFlightId })) {
    const rule = id === undefined ? undefined : violatedIdRule(parameter, id)
    if (rule !== undefined) {
      throw new ProblemError('request.invalid_parameter', { parameter, detail: rule })
    }
  }
  const question = { flightId, returnFlightId: returnFlightId ?? null, passengers }
  assertTwoFlights(question)
  return question
}
