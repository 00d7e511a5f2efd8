import type { VerifyQuestion } from './verify-fares.ts'
import type { Flight } from './world/wire.ts'

/** The operations of the interface, as the log and the fault rules name them. */
export const OPERATION_NAMES = ['routes', 'with-availability', 'csv', 'verify', 'booking'] as const
export type OperationName = (typeof OPERATION_NAMES)[number]

export const JSON_TYPE = 'application/json; charset=utf-8'
export const CSV_TYPE = 'text/csv; charset=utf-8'

/** A complete answer, before anything of it is sent. */
export interface Answer {
  readonly status: number
  readonly contentType: string
  readonly body: string | Buffer
  /** Names in lower case; an array is several lines of one name. Without Content-Type and Content-Length. */
  readonly headers?: Readonly<Record<string, string | string[]>>
  /** Whether it gets an ETag and a Last-Modified, and 304 if the client has this version. */
  readonly versioned?: boolean
  /** For the request log. */
  readonly question?: VerifyQuestion
  /** For the request log: the availability that a client reads from it, by flight id. */
  readonly available?: Readonly<Record<string, boolean>>
  /** On verify answers, for the faults. */
  readonly requested?: RequestedFlights
}

export interface RequestedFlights {
  /** Outbound first. */
  readonly ids: readonly string[]
  /** A flight between other places that the same passengers can book at that instant. */
  readonly otherFlight: () => Flight | undefined
}

/** assumption: errors are JSON of this shape; the interface shows none. */
export function errorAnswer(status: number, code: string, message: string): Answer {
  return { status, contentType: JSON_TYPE, body: JSON.stringify({ error: { code, message } }) }
}
