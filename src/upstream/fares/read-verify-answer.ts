import type { UnknownReason } from '../../platform/base/kinds.ts'
import type { Scrub } from '../../platform/base/secrets.ts'
import { plainLine } from '../../platform/base/text.ts'
import {
  type AnswerAnomaly,
  type LegObservation,
  unknownAnswer,
  type VerifyAnswer,
} from '../observation.ts'
import type { Question } from '../question.ts'
import { DUPLICATE_NAMES, readStrictJson } from '../strict-json.ts'
import { maskNamedTokens, quotable } from '../transport/body-snippet.ts'
import { UpstreamContractError } from '../upstream-errors.ts'
import { type Fields, fieldsOf, hasUnknownFields, idText, isFields } from './flight-fields.ts'
import { readFlight } from './read-flight.ts'

/** A verify answer nests five levels deep. */
const MAX_DEPTH = 32
const MAX_SHOWN_CHARS = 100
/** Half an address leads nowhere, so a longer one is left out. */
const MAX_URL_CHARS = 300
/** So many unknown members of an answer are named, each by so many characters. */
const [MAX_MEMBERS, MAX_MEMBER_CHARS] = [8, 40]

interface LegReading {
  readonly leg: LegObservation
  readonly anomalies: readonly AnswerAnomaly[]
  readonly detail?: string
}

/** Reads the body of a 200 of JSON. Never throws: an unreadable body is an unknown answer. */
export function readVerifyAnswer(
  body: readonly Uint8Array[],
  question: Question,
  scrub: Scrub,
): VerifyAnswer {
  const read = readStrictJson(body, MAX_DEPTH)
  if ('fault' in read) {
    const unknown = unknownAnswer(question, { reason: 'malformed', detail: read.fault })
    return read.fault === DUPLICATE_NAMES ? { ...unknown, anomalies: ['doubled_names'] } : unknown
  }
  if (!isFields(read.value)) {
    const detail = 'the body is JSON, but not an object'
    const unknown = unknownAnswer(question, { reason: 'contract_violation', detail })
    return Array.isArray(read.value) ? { ...unknown, anomalies: ['list_for_object'] } : unknown
  }
  return readLegs(read.value, question, scrub)
}

/** Reads each leg by itself: a fault in one leg does not affect the other. */
function readLegs(result: Fields, question: Question, scrub: Scrub): VerifyAnswer {
  const { flightId, returnFlightId } = question
  const extra = Object.keys(result).filter((id) => id !== flightId && id !== returnFlightId)
  const entries = extra.filter((name) => isEntry(name, result[name]))
  const others = extra.flatMap((name) =>
    entries.includes(name) ? unknownNames(Object.keys(fieldsOf(result[name]))) : [name],
  )
  const read = (id: string) => readLeg(result, id, { question, scrub, others })
  const outbound = read(flightId)
  const back = returnFlightId === null ? undefined : read(returnFlightId)
  const anomalies = [...outbound.anomalies, ...(back?.anomalies ?? [])]
  if (entries.length > 0) anomalies.push('extra_ids')
  if (others.length > 0) anomalies.push('unknown_fields')
  const detail = outbound.detail ?? back?.detail
  return {
    outbound: outbound.leg,
    return: back?.leg ?? null,
    anomalies: [...new Set(anomalies)],
    ...(detail === undefined ? {} : { detail }),
  }
}

/** Whether a member next to the requested entries is the entry of another flight. */
function isEntry(name: string, value: unknown): boolean {
  return idText(name) !== undefined && typeof fieldsOf(value).available === 'boolean'
}

/** Whether a field `error` or `errors` says something. Null, false, '', [] and {} say that there is none. */
function hasError(fields: Fields): boolean {
  return ['error', 'errors'].some((name) => {
    const value = Object.hasOwn(fields, name) ? fields[name] : undefined
    if (typeof value === 'object' && value !== null) return Object.keys(value).length > 0
    return Boolean(value)
  })
}

interface LegContext {
  readonly question: Question
  readonly scrub: Scrub
  /** The names of the members next to the entries, and of those in the entries of other flights that no entry has. */
  readonly others: readonly string[]
}

const NAMED = ['available', 'flight', 'error', 'errors']

function unknownNames(names: readonly string[]): string[] {
  return names.filter((name) => !NAMED.includes(name))
}

/**
 * The members in the entry of an unavailable flight and next to it that the interface does not have: they may say that
 * the answer is none. `error` and `errors` that say nothing are left out.
 */
function unavailableLeg(entry: Fields, { others, scrub }: LegContext): LegObservation {
  const names = unknownNames([...new Set([...Object.keys(entry), ...others])])
  if (names.length === 0) return { kind: 'unavailable' }
  const shown = names.slice(0, MAX_MEMBERS).map((name) => quotable(name, scrub, MAX_MEMBER_CHARS))
  const members = names.length > MAX_MEMBERS ? [...shown, '…'] : shown
  return { kind: 'unavailable', members: [...new Set(members)] }
}

function readLeg(result: Fields, id: string, context: LegContext): LegReading {
  // An id may be `constructor`, which every object inherits.
  if (!Object.hasOwn(result, id)) return unknownLeg('id_missing', 'the requested id is missing')
  const entry = result[id]
  // An error and a result contradict each other, and the result may be what is wrong.
  if (hasError(result)) return unknownLeg('contract_violation', 'the answer carries an error')
  if (!isFields(entry)) {
    return unknownLeg('contract_violation', 'the entry of an id is not an object')
  }
  const anomalies: AnswerAnomaly[] = hasUnknownFields(entry) ? ['unknown_fields'] : []
  if (hasError(entry))
    return unknownLeg('contract_violation', 'the entry carries an error', anomalies)
  const { available, flight } = entry
  // The interface omits the field if there is no flight. A null means the same.
  const hasFlight = flight !== undefined && flight !== null
  if (available === true) {
    if (hasFlight) return readAvailableLeg(flight, anomalies, { id, ...context })
    return unknownLeg('contract_violation', 'available is true without a flight', anomalies)
  }
  if (available !== false) {
    return unknownLeg('contract_violation', 'available is neither true nor false', anomalies)
  }
  if (!hasFlight) return { leg: unavailableLeg(entry, context), anomalies }
  return unknownLeg('contract_violation', 'available is false, but there is a flight', [
    ...anomalies,
    'flight_though_unavailable',
  ])
}

function readAvailableLeg(
  value: unknown,
  anomalies: readonly AnswerAnomaly[],
  { id, question: { passengers }, scrub }: LegContext & { id: string },
): LegReading {
  const show = (text: string) => quotable(text, scrub, MAX_SHOWN_CHARS)
  const showUrl = (text: string) => {
    const url = maskNamedTokens(scrub(plainLine(text, Number.POSITIVE_INFINITY)))
    return url.length > MAX_URL_CHARS ? '' : url
  }
  try {
    const { flight, anomalies: more } = readFlight(value, { id, passengers, show, showUrl })
    const all = [...anomalies, ...more]
    // An id that is left out says nothing of another flight.
    if (
      more.includes('flight_id_unlike_key') &&
      isFields(value) &&
      idText(value.id) !== undefined
    ) {
      return unknownLeg('other_flight', 'the flight has another id than its entry', all)
    }
    if (more.includes('categories_unlike_request')) {
      return unknownLeg('other_passengers', 'it has prices of passengers that were not asked', all)
    }
    return { leg: { kind: 'available', flight }, anomalies: all }
  } catch (err) {
    if (!(err instanceof UpstreamContractError)) throw err
    return unknownLeg('contract_violation', err.where, anomalies)
  }
}

function unknownLeg(
  reason: UnknownReason,
  detail: string,
  anomalies: readonly AnswerAnomaly[] = [],
): LegReading {
  return { leg: { kind: 'unknown', reason }, anomalies, detail }
}
