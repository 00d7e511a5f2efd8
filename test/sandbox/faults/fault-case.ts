import { expect } from 'vitest'
import type { EndpointName } from '../../../sandbox/answer.ts'
import type { RequestOutcome } from '../../../sandbox/operations/request-log.ts'
import type { Flight, Route } from '../../../sandbox/world/wire.ts'
import type { Received } from '../raw-client.ts'
import type { FaultFixture } from './fault-fixture.ts'

export interface FaultCase {
  readonly at: EndpointName
  readonly parameters?: Readonly<Record<string, string | number>>
  /** Query parameters instead of those of the fixture. An empty text leaves one out. */
  readonly params?: Readonly<Record<string, string>>
  /** What the log records about the request. */
  readonly outcome: (fixture: FaultFixture) => RequestOutcome
  /** Checks what the client received until the connection ended. */
  readonly received: (received: Received, fixture: FaultFixture) => void
  /** The connection stays open. The client hangs up after this many bytes of the body. */
  readonly hangsUpAfter?: number
}

/** The log of a response that says nothing about a flight. */
export const unanswered =
  (status: number | null = 200) =>
  (): RequestOutcome => ({ status })

/** The log of the true response. */
export const unfaulted = ({ open, sold }: FaultFixture): RequestOutcome => ({
  status: 200,
  available: { [open]: true, [sold]: false },
})

export function answered(first: boolean | undefined, second: boolean | undefined) {
  return ({ open, sold }: FaultFixture): RequestOutcome => ({
    status: 200,
    available: {
      ...(first === undefined ? {} : { [open]: first }),
      ...(second === undefined ? {} : { [sold]: second }),
    },
  })
}

/** The body of a whole 200 of JSON. */
export function jsonOf(received: Received): unknown {
  expect(received).toMatchObject({ status: 200, complete: true, ended: 'closed' })
  expect(received.headers['content-type']).toMatch(/^application\/json/)
  return JSON.parse(received.body.toString())
}

export function routesOf(received: Received): Route[] {
  return jsonOf(received) as Route[]
}

/** The flight of an entry, whatever the entry says. */
export function flightOf(received: Received, id: string): Flight {
  const result = jsonOf(received) as Record<string, { flight: Flight }>
  const entry = result[id]
  if (!entry) throw new Error(`nothing about ${id}`)
  return entry.flight
}
