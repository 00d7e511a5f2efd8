import { AppError } from '../../base/errors.ts'
import { BELIEFS, PRICE_REASONS } from '../../base/kinds.ts'
import { type Money, parseMoney } from '../../base/money.ts'
import type { FlightSummary } from '../../upstream/observation.ts'
import type { CandidateFlight, CandidatePrice, FareState, LegState } from './fare-state.ts'

/** A stored state that this version cannot read; `where` is the path to the wrong value. */
export class FareStateError extends AppError {
  override readonly name = 'FareStateError'
  override readonly code = 'verify.state_malformed'
  override readonly retryable = false
  readonly where: string

  constructor(where: string, expected: string) {
    super(`the stored state of a fare is malformed: ${where} is not ${expected}`)
    this.where = where
  }
}

/** Reads a stored state from parsed JSON; unknown fields are dropped. Throws FareStateError. */
export function parseFareState(value: unknown): FareState {
  const state = { value, where: '' }
  return {
    outbound: readLeg(fieldOf(state, 'outbound')),
    return: orNull(fieldOf(state, 'return'), readLeg),
    lastGoodCheckAt: orNull(fieldOf(state, 'lastGoodCheckAt'), readInstant),
    everAvailableAt: orNull(fieldOf(state, 'everAvailableAt'), readInstant),
  }
}

const LEG_REASONS = PRICE_REASONS.filter((reason) => reason !== 'mixed_currencies')

function readLeg(leg: Field): LegState {
  const contradictions = readCount(fieldOf(leg, 'contradictions'))
  const contradictedSince = orNull(fieldOf(leg, 'contradictedSince'), readInstant)
  if ((contradictions === 0) !== (contradictedSince === null)) {
    throw new FareStateError(
      `${leg.where}.contradictedSince`,
      'set exactly where there are contradictions',
    )
  }
  return {
    belief: readOneOf(fieldOf(leg, 'belief'), BELIEFS),
    contradictions,
    contradictedSince,
    confirmedAt: orNull(fieldOf(leg, 'confirmedAt'), readInstant),
    price: orNull(fieldOf(leg, 'price'), readMoney),
    pricedAt: orNull(fieldOf(leg, 'pricedAt'), readInstant),
    priceReason: orNull(fieldOf(leg, 'priceReason'), (field) => readOneOf(field, LEG_REASONS)),
    candidatePrice: orNull(fieldOf(leg, 'candidatePrice'), readCandidatePrice),
    identity: orNull(fieldOf(leg, 'identity'), readText),
    itinerary: orNull(fieldOf(leg, 'itinerary'), readText),
    flight: orNull(fieldOf(leg, 'flight'), readFlight),
    candidate: orNull(fieldOf(leg, 'candidate'), readCandidate),
  }
}

function readCandidate(candidate: Field): CandidateFlight {
  return {
    identity: readText(fieldOf(candidate, 'identity')),
    itinerary: readText(fieldOf(candidate, 'itinerary')),
    firstSeenAt: readInstant(fieldOf(candidate, 'firstSeenAt')),
    lastGoodCheckAt: orNull(fieldOf(candidate, 'lastGoodCheckAt'), readInstant),
  }
}

function readCandidatePrice(candidate: Field): CandidatePrice {
  return {
    price: readMoney(fieldOf(candidate, 'price')),
    firstSeenAt: readInstant(fieldOf(candidate, 'firstSeenAt')),
  }
}

function readFlight(flight: Field): FlightSummary {
  return {
    from: readText(fieldOf(flight, 'from')),
    to: readText(fieldOf(flight, 'to')),
    airline: readText(fieldOf(flight, 'airline')),
    numbers: readList(fieldOf(flight, 'numbers'), readNumber),
    departsAt: readText(fieldOf(flight, 'departsAt')),
    arrivesAt: readText(fieldOf(flight, 'arrivesAt')),
    stops: readList(fieldOf(flight, 'stops'), readText),
  }
}

/** A value of parsed JSON, and the path to it. */
interface Field {
  readonly value: unknown
  readonly where: string
}

function fieldOf(parent: Field, name: string): Field {
  if (typeof parent.value !== 'object' || parent.value === null || Array.isArray(parent.value)) {
    throw new FareStateError(parent.where || 'the whole', 'an object')
  }
  const where = parent.where === '' ? name : `${parent.where}.${name}`
  return { value: (parent.value as Readonly<Record<string, unknown>>)[name], where }
}

function orNull<T>(field: Field, read: (field: Field) => T): T | null {
  return field.value === null ? null : read(field)
}

function readText({ value, where }: Field): string {
  if (typeof value !== 'string') throw new FareStateError(where, 'text')
  return value
}

const INSTANT = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/

/** An instant in the form of toISOString: such texts sort in the order of their times. */
function readInstant(field: Field): string {
  const text = readText(field)
  if (!INSTANT.test(text) || Number.isNaN(Date.parse(text))) {
    throw new FareStateError(field.where, 'an instant')
  }
  return text
}

function readCount({ value, where }: Field): number {
  if (!Number.isSafeInteger(value) || (value as number) < 0) {
    throw new FareStateError(where, 'a count')
  }
  return value as number
}

function readNumber({ value, where }: Field): number {
  if (typeof value !== 'number') throw new FareStateError(where, 'a number')
  return value
}

function readOneOf<T extends string>({ value, where }: Field, names: readonly T[]): T {
  const found = names.find((name) => name === value)
  if (found === undefined) throw new FareStateError(where, `one of ${names.join(', ')}`)
  return found
}

function readList<T>({ value, where }: Field, read: (field: Field) => T): T[] {
  if (!Array.isArray(value)) throw new FareStateError(where, 'a list')
  return value.map((item: unknown, at) => read({ value: item, where: `${where}[${at}]` }))
}

function readMoney(field: Field): Money {
  const money = parseMoney(fieldOf(field, 'amount').value, fieldOf(field, 'currency').value)
  if (money === null) throw new FareStateError(field.where, 'an amount of money')
  return money
}
