import type { Scrub } from '../../base/secrets.ts'
import type {
  AnswerAnomaly,
  LegObservation,
  Observation,
  Question,
  UnknownReason,
} from '../observation.ts'
import { quotable } from '../transport/body-snippet.ts'
import { UpstreamContractError } from '../upstream-errors.ts'
import { type Fields, isFields } from './flight-fields.ts'
import { viewFlight } from './flight-view.ts'
import { hasUnknownFields } from './known-fields.ts'
import { DOUBLED_NAMES, readStrictJson } from './strict-json.ts'

/** A verify answer nests five levels deep. */
const MAX_DEPTH = 32
const MAX_SHOWN_CHARS = 100

/** What an answer says, without how it came. */
export type VerifyAnswer = Omit<Observation, 'evidence'>

/** Why a leg, or the whole answer, is unknown; `detail` is for people and holds nothing that is secret. */
export interface Unknown {
  readonly reason: UnknownReason
  readonly detail: string
}

interface JudgedLeg {
  readonly leg: LegObservation
  readonly anomalies: readonly AnswerAnomaly[]
  readonly detail?: string
}

/** Reads the body of a 200 of JSON. Never throws: whatever it is, it is an answer or unknown. */
export function readVerifyAnswer(
  body: readonly Uint8Array[],
  question: Question,
  scrub: Scrub,
): VerifyAnswer {
  const read = readStrictJson(body, MAX_DEPTH)
  if ('fault' in read) {
    const unknown = unknownAnswer(question, { reason: 'malformed', detail: read.fault })
    return read.fault === DOUBLED_NAMES ? { ...unknown, anomalies: ['doubled_names'] } : unknown
  }
  if (!isFields(read.value)) {
    const detail = 'the body is JSON, but no object'
    const unknown = unknownAnswer(question, { reason: 'contract_violation', detail })
    return Array.isArray(read.value) ? { ...unknown, anomalies: ['list_for_object'] } : unknown
  }
  return judgeResult(read.value, question, scrub)
}

/** The answer that says nothing of any leg. */
export function unknownAnswer(
  { returnFlightId }: Question,
  { reason, detail }: Unknown,
): VerifyAnswer {
  const leg: LegObservation = { kind: 'unknown', reason }
  return { outbound: leg, return: returnFlightId === null ? null : leg, anomalies: [], detail }
}

/** The legs are judged one by one: what is wrong with one says nothing of the other. */
function judgeResult(result: Fields, question: Question, scrub: Scrub): VerifyAnswer {
  const { flightId, returnFlightId } = question
  const judge = (id: string) => judgeLeg(result, id, { question, scrub })
  const outbound = judge(flightId)
  const back = returnFlightId === null ? undefined : judge(returnFlightId)
  const extra = Object.keys(result).some((id) => id !== flightId && id !== returnFlightId)
  const anomalies = [...outbound.anomalies, ...(back?.anomalies ?? [])]
  const detail = outbound.detail ?? back?.detail
  return {
    outbound: outbound.leg,
    return: back?.leg ?? null,
    anomalies: [...new Set(extra ? [...anomalies, 'extra_ids' as const] : anomalies)],
    ...(detail === undefined ? {} : { detail }),
  }
}

interface JudgeContext {
  readonly question: Question
  readonly scrub: Scrub
}

function judgeLeg(result: Fields, id: string, context: JudgeContext): JudgedLeg {
  // An id may be `constructor`, which every object has.
  if (!Object.hasOwn(result, id)) return unknownLeg('id_missing', 'the requested id is missing')
  const entry = result[id]
  if (!isFields(entry)) return unknownLeg('contract_violation', 'the entry of an id is no object')
  const anomalies: AnswerAnomaly[] = hasUnknownFields(entry) ? ['unknown_fields'] : []
  const { available, flight } = entry
  // The interface leaves the field out; null says no more than that.
  const hasFlight = flight !== undefined && flight !== null
  if (available === true) {
    if (hasFlight) return judgeFlight(flight, anomalies, { id, ...context })
    return unknownLeg('contract_violation', 'available is true without a flight', anomalies)
  }
  if (available !== false) {
    return unknownLeg('contract_violation', 'available is neither true nor false', anomalies)
  }
  if (!hasFlight) return { leg: { kind: 'unavailable' }, anomalies }
  return unknownLeg('contract_violation', 'available is false beside a flight', [
    ...anomalies,
    'flight_though_unavailable',
  ])
}

function judgeFlight(
  value: unknown,
  anomalies: readonly AnswerAnomaly[],
  { id, question, scrub }: JudgeContext & { id: string },
): JudgedLeg {
  const { passengers } = question
  const show = (text: string) => quotable(text, scrub, MAX_SHOWN_CHARS)
  try {
    const viewed = viewFlight(value, { id, passengers, show })
    return {
      leg: { kind: 'available', flight: viewed.flight },
      anomalies: [...anomalies, ...viewed.anomalies],
    }
  } catch (err) {
    if (!(err instanceof UpstreamContractError)) throw err
    return unknownLeg('contract_violation', err.where, anomalies)
  }
}

function unknownLeg(
  reason: UnknownReason,
  detail: string,
  anomalies: readonly AnswerAnomaly[] = [],
): JudgedLeg {
  return { leg: { kind: 'unknown', reason }, anomalies, detail }
}
