import type { Money } from '../base/money.ts'

/** One question to the upstream: is this flight, with this return, there for these passengers, and at what price? */
export interface Question {
  readonly flightId: string
  readonly returnFlightId: string | null
  readonly passengers: PassengerMix
}

/** The six counts. */
export interface PassengerMix {
  readonly residents: PassengerCounts
  readonly nonResidents: PassengerCounts
}

export interface PassengerCounts {
  readonly adults: number
  readonly children: number
  readonly infants: number
}

/** Why we do not know. None of these counts against a fare. */
export type UnknownReason =
  | 'timeout'
  | 'network'
  | 'http_4xx'
  | 'http_5xx'
  | 'rate_limited'
  | 'auth'
  | 'malformed'
  | 'contract_violation'
  | 'id_missing'
  | 'identity_mismatch'
  | 'circuit_open'

/** What the upstream said of one flight, once. */
export type LegObservation =
  | { readonly kind: 'available'; readonly flight: ObservedFlight }
  | { readonly kind: 'unavailable' }
  | { readonly kind: 'unknown'; readonly reason: UnknownReason }

/** The flight of an available leg, as far as we compare it. */
export interface ObservedFlight {
  /** Null where the upstream's price cannot be read; the flight stays available. */
  readonly price: Money | null
  /**
   * What makes it this flight and no other, as canonical text: airline, number of legs, end places, date of
   * departure (local). Two texts are equal exactly when the identity is.
   */
  readonly identity: string
  /** What may change of one flight, as canonical text: local times, flight numbers, intermediate stops. */
  readonly itinerary: string
  /** Local time at the place of departure, `YYYY-MM-DD HH:MM`. */
  readonly departsAt: string
  readonly flight: FlightSummary
}

/** What people are shown of a flight. */
export interface FlightSummary {
  readonly from: string
  readonly to: string
  readonly airline: string
  readonly numbers: readonly number[]
  readonly departsAt: string
  readonly arrivesAt: string
  readonly stops: readonly string[]
}

/** Oddities of an answer, which never change what `available` says; counted, never believed. */
export type AnswerAnomaly =
  | 'list_for_object'
  | 'doubled_names'
  | 'text_ids'
  | 'blank_texts'
  | 'price_unreadable'
  | 'total_unlike_sum'
  | 'categories_unlike_request'
  | 'duration_unlike_times'
  | 'flight_id_unlike_key'
  | 'extra_ids'
  | 'flight_though_unavailable'
  | 'unknown_fields'

/** What one call told us, with its evidence. */
export interface Observation {
  readonly outbound: LegObservation
  /** Null where the question has no return flight. */
  readonly return: LegObservation | null
  readonly anomalies: readonly AnswerAnomaly[]
  /** Where a leg is unknown: what was wrong, for people. Scrubbed, and never what a decision depends on. */
  readonly detail?: string
  /** Where the upstream asked us to wait, and for how long; capped by the client. */
  readonly retryAfterMs?: number
  readonly evidence: Evidence
}

/** The answer behind an observation, scrubbed, and how it came. */
export interface Evidence {
  /** The body as text, scrubbed and cleaned; null where there was none. At most 64 KB. */
  readonly body: string | null
  readonly status: number | null
  readonly latencyMs: number
  /** SHA-256 of the request without its token, in hex. */
  readonly requestFingerprint: string
  readonly parserVersion: number
}
