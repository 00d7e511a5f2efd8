import { expect } from 'vitest'
import type { EndpointName } from '../../../src/sandbox/answer.ts'
import type { RequestOutcome } from '../../../src/sandbox/endpoints/request-log.ts'
import type { Flight, Route } from '../../../src/sandbox/world/wire.ts'
import type { Heard } from '../raw-client.ts'
import type { Ground } from './ground.ts'

export interface FaultCase {
  readonly at: EndpointName
  readonly parameters?: Readonly<Record<string, string | number>>
  /** Of the question, in place of the ground's own; an empty text leaves one out. */
  readonly params?: Readonly<Record<string, string>>
  /** What the log says of it. */
  readonly outcome: (ground: Ground) => RequestOutcome
  /** What the client hears until the connection ends. */
  readonly heard: (heard: Heard, ground: Ground) => void
  /** The connection stays open: the client hears this much and hangs up. */
  readonly hears?: number
}

/** Nothing is said about any flight. */
export const unsaid =
  (status: number | null = 200) =>
  (): RequestOutcome => ({ status })

/** The log holds what is honest. */
export const honestly = ({ open, sold }: Ground): RequestOutcome => ({
  status: 200,
  available: { [open]: true, [sold]: false },
})

export function said(first: boolean | undefined, second: boolean | undefined) {
  return ({ open, sold }: Ground): RequestOutcome => ({
    status: 200,
    available: {
      ...(first === undefined ? {} : { [open]: first }),
      ...(second === undefined ? {} : { [sold]: second }),
    },
  })
}

/** The body of a whole 200 of JSON. */
export function jsonOf(heard: Heard): unknown {
  expect(heard).toMatchObject({ status: 200, complete: true, ended: 'closed' })
  expect(heard.headers['content-type']).toMatch(/^application\/json/)
  return JSON.parse(heard.body.toString())
}

export function routesOf(heard: Heard): Route[] {
  return jsonOf(heard) as Route[]
}

/** The flight of an entry, whatever the entry says. */
export function flightOf(heard: Heard, id: string): Flight {
  const result = jsonOf(heard) as Record<string, { flight: Flight }>
  const entry = result[id]
  if (!entry) throw new Error(`nothing about ${id}`)
  return entry.flight
}
