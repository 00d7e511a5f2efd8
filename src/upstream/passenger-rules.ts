import { AppError } from '../base/errors.ts'
import { cleanText } from '../base/text.ts'
import type { PassengerCounts, PassengerMix, Question } from './observation.ts'

/** The interface's cap on each of the six counts. */
export const MAX_PASSENGERS = 12
export const MAX_FLIGHT_ID_CHARS = 200

const GROUPS = ['residents', 'nonResidents'] as const
const TYPES = ['adults', 'children', 'infants'] as const

/** A passenger mix that the interface forbids; `rule` says which of its rules. Found before any call. */
export class PassengerRuleError extends AppError {
  override readonly name = 'PassengerRuleError'
  override readonly code = 'upstream.passenger_rule'
  override readonly retryable = false
  readonly rule: string

  constructor(rule: string) {
    super(`the passenger mix breaks a rule: ${rule}`)
    this.rule = rule
  }
}

/** A flight id that cannot be asked for; `rule` says why. Found before any call. */
export class QuestionError extends AppError {
  override readonly name = 'QuestionError'
  override readonly code = 'upstream.question'
  override readonly retryable = false
  readonly rule: string

  constructor(rule: string) {
    super(`the question cannot be asked: ${rule}`)
    this.rule = rule
  }
}

/** Throws PassengerRuleError or QuestionError for a question that must not be sent. */
export function assertQuestion({ flightId, returnFlightId, passengers }: Question): void {
  const wrongId =
    brokenIdRule('flightId', flightId) ??
    (returnFlightId === null ? undefined : brokenIdRule('returnFlightId', returnFlightId))
  if (wrongId !== undefined) throw new QuestionError(wrongId)
  const wrongMix = brokenPassengerRule(passengers)
  if (wrongMix !== undefined) throw new PassengerRuleError(wrongMix)
}

/** The passenger rule that a mix breaks, in words; undefined for a mix that may be asked for. */
export function brokenPassengerRule(mix: PassengerMix): string | undefined {
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

/** The rule that a flight id breaks, in words; undefined for one that may be asked for. */
export function brokenIdRule(name: string, id: string): string | undefined {
  if (id.trim() === '') return `${name} must not be empty`
  if (id.length > MAX_FLIGHT_ID_CHARS) {
    return `${name} must have at most ${MAX_FLIGHT_ID_CHARS} characters`
  }
  // It would reach the upstream as another id than the one that its answer is searched for.
  return cleanText(id, MAX_FLIGHT_ID_CHARS) === id
    ? undefined
    : `${name} must be free of NUL and lone surrogates`
}

/** @example totalOf(mix, 'adults') // residents and non-residents together */
export function totalOf(mix: PassengerMix, type: keyof PassengerCounts): number {
  return mix.residents[type] + mix.nonResidents[type]
}

function isCount(count: number): boolean {
  return Number.isInteger(count) && count >= 0 && count <= MAX_PASSENGERS
}
