import type { UnknownReason } from '../platform/base/kinds.ts'
import type { Money } from '../platform/base/money.ts'
import type { Question } from './question.ts'

/**
 * What the upstream reported about one flight, once. `members` names what the interface does not have, in the entry of
 * an unavailable flight or next to it.
 */
export type LegObservation =
  | { readonly kind: 'available'; readonly flight: ObservedFlight }
  | { readonly kind: 'unavailable'; readonly members?: readonly string[] }
  | {
      readonly kind: 'unknown'
      readonly reason: UnknownReason
      readonly members?: readonly string[]
    }

/** The flight of an available leg, as far as we compare it. */
export interface ObservedFlight {
  /** Null if the upstream's price is unreadable. The flight stays available. */
  readonly price: LegPrice | null
  /** Whether the price is doubtful for itself: a total unlike the sum of its parts, or zero. */
  readonly priceIsOdd: boolean
  /** Whether the total is not the sum of its passengers. Such a price counts only where that is usual. */
  readonly totalUnlikeSum: boolean
  /**
   * The identity of the flight as canonical text: airline, number of legs, end places, local date of departure. Two
   * texts are equal exactly if the identities are equal.
   */
  readonly identity: string
  /** What may change about the same flight, as canonical text: local times, flight numbers, intermediate stops. */
  readonly itinerary: string
  /** Local time at the departure place, `YYYY-MM-DD HH:MM`. */
  readonly departsAt: string
  readonly flight: FlightSummary
}

/** The price of a flight for all passengers, and what each costs. Older versions have stored the total alone. */
export interface LegPrice extends Money {
  readonly residents?: PassengerPrices
  readonly nonResidents?: PassengerPrices
}

/** The price of one passenger of each type, as decimal text in the currency of the total; null if it is not priced. */
export interface PassengerPrices {
  readonly adult: string | null
  readonly child: string | null
  readonly infant: string | null
}

/** Who sells a flight. */
export interface Site {
  readonly id: string | null
  readonly name: string | null
  /** Text of the upstream, in any scheme. Null also if it is longer than 300 characters. */
  readonly url: string | null
}

/** A place as an answer gives it, its code apart. */
export interface AnswerPlace {
  readonly id: string | null
  readonly city: string | null
  readonly country: string | null
}

/** The parts of a flight that are shown to people. */
export interface FlightSummary {
  /** The place by its code, else by its city or id. Only a code has exactly three capital letters. */
  readonly from: string
  readonly to: string
  /** Its name, or what the upstream gives in place of it. */
  readonly airline: string
  /** Missing if the upstream gave none, and in what older versions have stored. */
  readonly airlineCode?: string
  readonly numbers: readonly number[]
  readonly departsAt: string
  /**
   * The latest instant of departure, ISO text in UTC. Only where the answer contradicts our table of time zones: then
   * the zones of both places count as unknown.
   */
  readonly departsBy?: string
  readonly arrivesAt: string
  readonly stops: readonly string[]
  /** The same places, with what else the answer says of them. Missing in what older versions have stored. */
  readonly places?: {
    readonly from: AnswerPlace
    readonly to: AnswerPlace
    readonly stops: readonly AnswerPlace[]
  }
  /** Missing if the upstream gave none, and in what older versions have stored. */
  readonly site?: Site
}

/**
 * Deviations of an answer from the contract. They are counted, and never change the meaning of `available`. What
 * was asked was another question, by `flight_id_unlike_key` and `categories_unlike_request`: such a flight is
 * unknown.
 */
export const ANSWER_ANOMALIES = [
  'list_for_object',
  'doubled_names',
  'unknown_fields',
  'text_ids',
  'blank_texts',
  'flight_id_unlike_key',
  'extra_ids',
  'flight_though_unavailable',
  'price_unreadable',
  'total_unlike_sum',
  'zero_price',
  'categories_unlike_request',
  'duration_unlike_times',
  'zone_unlike_table',
  'legs_swapped',
] as const
export type AnswerAnomaly = (typeof ANSWER_ANOMALIES)[number]

/** The result of one call, with its evidence. */
export interface Observation {
  readonly outbound: LegObservation
  /** Null if the question has no return flight. */
  readonly return: LegObservation | null
  readonly anomalies: readonly AnswerAnomaly[]
  /** Why a leg is unknown, for people. Scrubbed. No decision depends on it. */
  readonly detail?: string
  /** How old the answer was when it was sent, by its header `Age`; 0 without a valid one. */
  readonly ageSeconds: number
  /** Its header `Date`; missing without a valid one. */
  readonly datedAt?: Date
  /** The wait that the upstream asked for, capped by the client. */
  readonly retryAfterMs?: number
  readonly evidence: Evidence
}

/** The answer on which an observation is based, scrubbed. */
export interface Evidence {
  /** The body as text, scrubbed and cleaned, at most 64 KB. Null without a body. */
  readonly body: string | null
  readonly status: number | null
  readonly latencyMs: number
  /** SHA-256 of the request without its token, in hex. */
  readonly requestFingerprint: string
  readonly parserVersion: number
}

/** The content of an answer, without its evidence. */
export type VerifyAnswer = Omit<Observation, 'evidence' | 'ageSeconds' | 'datedAt'>

/** Why a leg or the whole answer is unknown. `detail` is for people and holds no secret. */
interface Unknown {
  readonly reason: UnknownReason
  readonly detail: string
}

/** The answer in which every leg is unknown. */
export function unknownAnswer(
  { returnFlightId }: Question,
  { reason, detail }: Unknown,
): VerifyAnswer {
  const leg: LegObservation = { kind: 'unknown', reason }
  return { outbound: leg, return: returnFlightId === null ? null : leg, anomalies: [], detail }
}
