import { AppError } from '../platform/base/errors.ts'
import { cleanText } from '../platform/base/text.ts'
import type { PassengerCounts, PassengerMix, Question } from './observation.ts'

/** The interface's cap on each of the six counts. */
export const MAX_PASSENGERS = 12
export const MAX_FLIGHT_ID_CHARS = 200

const GROUPS = ['residents', 'nonResidents'] as const
const TYPES = ['adults', 'children', 'infants'] as const

/** The interface forbids this passenger mix. `rule` is the violated rule. Thrown before any call. */
export class PassengerRuleError extends AppError {
  override readonly name = 'PassengerRuleError'
  override readonly code = 'upstream.passenger_rule'
  override readonly retryable = false
  readonly rule: string

  constructor(rule: string) {
    super(`the passenger mix violates a rule: ${rule}`)
    this.rule = rule
  }
}

/** This flight id cannot be sent. `rule` is the violated rule. Thrown before any call. */
export class QuestionError extends AppError {
  override readonly name = 'QuestionError'
  override readonly code = 'upstream.question'
  override readonly retryable = false
  readonly rule: string

  constructor(rule: string) {
    super(`the question is invalid: ${rule}`)
    this.rule = rule
  }
}

/**
 * Why a question must not name one flight twice. Follows the parameter or column of the return flight in a
 * sentence.
 */
export const SAME_FLIGHT_RULE = 'must not be the outbound flight: its price would be counted twice'

/** The return flight of a question is its outbound flight. Thrown before any call. */
export class SameFlightError extends AppError {
  override readonly name = 'SameFlightError'
  override readonly code = 'verify.same_flight'
  override readonly retryable = false

  constructor() {
    super(`the return flight ${SAME_FLIGHT_RULE}`)
  }
}

/** Throws SameFlightError. */
export function assertTwoFlights({ flightId, returnFlightId }: Question): void {
  if (flightId === returnFlightId) throw new SameFlightError()
}

/** Throws PassengerRuleError or QuestionError for a question that must not be sent. */
export function assertQuestion({ flightId, returnFlightId, passengers }: Question): void {
  const wrongId =
    violatedIdRule('flightId', flightId) ??
    (returnFlightId === null ? undefined : violatedIdRule('returnFlightId', returnFlightId))
  if (wrongId !== undefined) throw new QuestionError(wrongId)
  const wrongMix = violatedPassengerRule(passengers)
  if (wrongMix !== undefined) throw new PassengerRuleError(wrongMix)
}

/** The rule that a passenger mix violates, in words. Undefined for a valid mix. */
export function violatedPassengerRule(mix: PassengerMix): string | undefined {
  for (const group of GROUPS) {
    for (const type of TYPES) {
      if (isCount(mix[group][type])) continue
      return `${group}.${type} must be a whole number from 0 to ${MAX_PASSENGERS}`
    }
  }
  if (totalOf(mix, 'adults') < 1) return 'there must be at least one adult'
  if (totalOf(mix, 'infants') > totalOf(mix, 'adults')) return 'infants must not outnumber adults'
  return undefined
}

/** The rule that a flight id violates, in words. Undefined for a valid id. */
export function violatedIdRule(name: string, id: string): string | undefined {
  if (id.trim() === '') return `${name} must not be empty`
  if (id.length > MAX_FLIGHT_ID_CHARS) {
    return `${name} must have at most ${MAX_FLIGHT_ID_CHARS} characters`
  }
  // The request would carry another id than the one that we look up in the answer.
  return cleanText(id, MAX_FLIGHT_ID_CHARS) === id
    ? undefined
    : `${name} must not contain NUL or lone surrogates`
}

/** @example totalOf(mix, 'adults') // residents and non-residents together */
export function totalOf(mix: PassengerMix, type: keyof PassengerCounts): number {
  return mix.residents[type] + mix.nonResidents[type]
}

function isCount(count: number): boolean {
  return Number.isInteger(count) && count >= 0 && count <= MAX_PASSENGERS
}
