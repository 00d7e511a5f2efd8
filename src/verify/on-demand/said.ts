import { parseKeepingDigits } from '../../upstream/lists/check-route.ts'
import type {
  LegObservation,
  Observation,
  Question,
  UnknownReason,
} from '../../upstream/observation.ts'

/** Why a question could not be answered: what the upstream did, or what kept us from asking. */
export type SilenceReason = UnknownReason | 'no_slot' | 'too_large' | 'stopping'

/** What came of a question, as those who asked it are told; plain data, as the database keeps it for a while. */
export type Said =
  /** `result` is the text of the interface's Verify result. */
  { readonly kind: 'known'; readonly result: string } | Unsaid

export interface Unsaid {
  readonly kind: 'unknown'
  readonly reason: SilenceReason
  /** When it may be worth asking again. */
  readonly retryAfterMs: number
}

const RETRY_AFTER_MS = 5_000

export function unsaid(reason: SilenceReason, retryAfterMs = RETRY_AFTER_MS): Unsaid {
  return { kind: 'unknown', reason, retryAfterMs }
}

/**
 * What an observation says to who asked: of every flight that was asked whether it is available, or nothing at all.
 * A result that left out a flight, or called one unavailable of which nothing is known, would be believed.
 */
export function saidOf(question: Question, observation: Observation): Said {
  const legs = legsOf(question, observation)
  for (const { leg } of legs) {
    if (leg.kind === 'unknown') return unsaid(leg.reason, observation.retryAfterMs)
  }
  const flights = legs.some(({ leg }) => leg.kind === 'available')
    ? flightsIn(observation.evidence.body)
    : NO_FLIGHTS
  const result = resultOf(
    legs.map(({ id, leg }) => ({ id, available: leg.kind === 'available' })),
    flights,
  )
  // What was read once and now cannot be is what we keep of an answer: its beginning.
  return result === undefined ? unsaid('too_large') : { kind: 'known', result }
}

interface AskedLeg {
  readonly id: string
  readonly leg: LegObservation
}

function legsOf({ flightId, returnFlightId }: Question, said: Observation): AskedLeg[] {
  const outbound = { id: flightId, leg: said.outbound }
  if (returnFlightId === null || returnFlightId === flightId) return [outbound]
  return [outbound, { id: returnFlightId, leg: said.return ?? LEFT_OUT }]
}

const LEFT_OUT: LegObservation = { kind: 'unknown', reason: 'id_missing' }

/** The flight under each id of a verify answer. */
export type Flights = (id: string) => object | undefined

const NO_FLIGHTS: Flights = () => undefined

/** Reads the flights of an answer that was kept; none of one that is not whole. */
export function flightsIn(body: string | null): Flights {
  const answer = body === null ? undefined : parseOrNothing(body)
  return (id) => {
    if (!isObject(answer) || !Object.hasOwn(answer, id)) return undefined
    const entry = answer[id]
    return isObject(entry) && isObject(entry.flight) ? entry.flight : undefined
  }
}

/**
 * The text of the interface's Verify result; undefined where a flight that is available is not to be had. Flights are
 * as the upstream sent them, but for our secrets, with all digits of their numbers.
 */
export function resultOf(
  legs: readonly { readonly id: string; readonly available: boolean }[],
  flights: Flights,
): string | undefined {
  const entries: string[] = []
  for (const { id, available } of legs) {
    const flight = available ? flights(id) : undefined
    if (available && flight === undefined) return undefined
    entries.push(`${JSON.stringify(id)}:${JSON.stringify({ available, flight }, exactDigits)}`)
  }
  return `{${entries.join(',')}}`
}

/** `JSON.rawJSON` is not known to TypeScript's library yet. */
const { rawJSON } = JSON as unknown as { rawJSON: (text: string) => unknown }

function exactDigits(_name: string, value: unknown): unknown {
  return typeof value === 'bigint' ? rawJSON(value.toString()) : value
}

function parseOrNothing(text: string): unknown {
  try {
    return parseKeepingDigits(text)
  } catch {
    return undefined
  }
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
