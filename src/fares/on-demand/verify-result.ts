import type { UnknownReason } from '../../platform/base/kinds.ts'
import type { LegObservation, Observation, Question } from '../../upstream/observation.ts'
import { parseKeepingDigits } from '../../upstream/strict-json.ts'

/** Why there is no answer: the observation was unknown, or the call was not made or not kept whole. */
export type UnknownResultReason = UnknownReason | 'no_slot' | 'too_large' | 'stopping'

/** The answer of an on-demand check to its caller. */
export type VerifyResult = KnownResult | UnknownResult

export interface KnownResult {
  readonly kind: 'known'
  /** The text of the interface's Verify result. */
  readonly body: string
}

export interface UnknownResult {
  readonly kind: 'unknown'
  readonly reason: UnknownResultReason
  /** How long the caller should wait before it asks again. */
  readonly retryAfterMs: number
}

const RETRY_AFTER_MS = 5_000

export function unknownResult(
  reason: UnknownResultReason,
  retryAfterMs = RETRY_AFTER_MS,
): UnknownResult {
  return { kind: 'unknown', reason, retryAfterMs }
}

/**
 * Turns an observation into the answer for the caller: the availability of every flight in the question, or unknown.
 *
 * A result without one of the flights would be read as "not available". So one unknown flight makes the whole
 * result unknown.
 */
export function parseVerifyResult(question: Question, observation: Observation): VerifyResult {
  const legs = legsOf(question, observation)
  for (const { leg } of legs) {
    if (leg.kind === 'unknown') return unknownResult(leg.reason, observation.retryAfterMs)
  }
  const someAvailable = legs.some(({ leg }) => leg.kind === 'available')
  // Reading the evidence's body has a cost, and the flights are needed only if one is available.
  const flights = someAvailable ? parseBody(observation.evidence.body) : undefined
  const entries: string[] = []
  for (const { id, leg } of legs) {
    const available = leg.kind === 'available'
    const flight = available ? flightIn(flights, id) : undefined
    // The observation was read from the whole answer. The evidence keeps only the beginning of a long one.
    if (available && flight === undefined) return unknownResult('too_large')
    entries.push(`${JSON.stringify(id)}:${JSON.stringify({ available, flight }, exactDigits)}`)
  }
  return { kind: 'known', body: `{${entries.join(',')}}` }
}

interface AskedLeg {
  readonly id: string
  readonly leg: LegObservation
}

function legsOf({ flightId, returnFlightId }: Question, observation: Observation): AskedLeg[] {
  const outbound = { id: flightId, leg: observation.outbound }
  if (returnFlightId === null) return [outbound]
  return [outbound, { id: returnFlightId, leg: observation.return ?? MISSING_LEG }]
}

const MISSING_LEG: LegObservation = { kind: 'unknown', reason: 'id_missing' }

function parseBody(body: string | null): unknown {
  if (body === null) return undefined
  try {
    return parseKeepingDigits(body)
  } catch {
    return undefined
  }
}

/** The flight as the upstream sent it, with our secrets removed. */
function flightIn(answer: unknown, id: string): object | undefined {
  if (!isObject(answer) || !Object.hasOwn(answer, id)) return undefined
  const entry = answer[id]
  return isObject(entry) && isObject(entry.flight) ? entry.flight : undefined
}

/** TypeScript's library does not declare `JSON.rawJSON` yet. */
const { rawJSON } = JSON as unknown as { rawJSON: (text: string) => unknown }

/** Integers that no float holds are parsed as bigints, and written with all their digits. */
function exactDigits(_name: string, value: unknown): unknown {
  return typeof value === 'bigint' ? rawJSON(value.toString()) : value
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
