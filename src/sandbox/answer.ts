import type { VerifyQuestion } from './verify-fares.ts'
import type { Flight } from './world/wire.ts'

export const JSON_TYPE = 'application/json; charset=utf-8'
export const CSV_TYPE = 'text/csv; charset=utf-8'

/** What an endpoint has to say, complete, before anything of it is sent. */
export interface Answer {
  readonly status: number
  readonly contentType: string
  readonly body: string | Buffer
  /** In lower case, several lines of one name as an array; the content's type and length are not among them. */
  readonly headers?: Readonly<Record<string, string | string[]>>
  /** Whether it says which version it is, so that who has that version need not be sent it again. */
  readonly versioned?: boolean
  /** For the request log. */
  readonly question?: VerifyQuestion
  /** For the request log: what a client that knows the interface reads of each flight that was asked. */
  readonly available?: Readonly<Record<string, boolean>>
  /** On answers that name flights: what it takes to say something else of them. */
  readonly asked?: Asked
}

export interface Asked {
  /** The ids as they were asked, outbound first. */
  readonly ids: readonly string[]
  /** A flight that can be booked at that instant by the same passengers, and that nobody asked for. */
  readonly otherFlight: () => Flight | undefined
}

/** assumption: errors are JSON of this shape; the interface shows none. */
export function refusal(status: number, code: string, message: string): Answer {
  return { status, contentType: JSON_TYPE, body: JSON.stringify({ error: { code, message } }) }
}

export const ENDPOINT_NAMES = ['routes', 'with-availability', 'csv', 'verify', 'booking'] as const

/** The endpoints of the interface, as the log and the fault rules name them. */
export type EndpointName = (typeof ENDPOINT_NAMES)[number]
