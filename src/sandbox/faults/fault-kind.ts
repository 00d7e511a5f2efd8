import type { ServerResponse } from 'node:http'
import { type Answer, type EndpointName, JSON_TYPE } from '../answer.ts'
import type { ParameterTable, Values } from './fault-parameters.ts'

/** What a fault has before it when it strikes. */
export interface Scene {
  readonly endpoint: EndpointName
  /** The honest answer. */
  readonly answer: Answer
  /** How often the rule has struck before: 0 at first. */
  readonly turn: number
  /** Real time. */
  readonly now: Date
  /** Path and query of the request, its token included. */
  readonly url: string
}

/** What comes to the wire in place of the honest answer. */
export interface Spoilt {
  /** Has `available` only where a client can still read it. */
  readonly answer: Answer
  readonly delayMs?: number
  /** Sends the answer in a way of its own; else it is sent whole. */
  readonly send?: Send
  /** False where not even a status is sent. */
  readonly statusSent?: boolean
}

export type Send = (response: ServerResponse, answer: Answer) => void

/** Spoils one answer; undefined where the answer has nothing that could be spoilt, and stays honest. */
export type Spoil = (scene: Scene) => Spoilt | undefined

/** One kind of fault: an entry of the table. */
export interface FaultKind {
  /** One line for the documentation and the help. */
  readonly summary: string
  readonly endpoints: readonly EndpointName[]
  readonly parameters: ParameterTable
  /** Takes the value of every parameter. */
  readonly prepare: (values: Readonly<Record<string, unknown>>) => Spoil
}

export const LISTS: readonly EndpointName[] = ['routes', 'with-availability']
export const JSON_ENDPOINTS: readonly EndpointName[] = [...LISTS, 'verify', 'booking']

export interface FaultDefinition<P extends ParameterTable> {
  readonly summary: string
  readonly endpoints: readonly EndpointName[]
  readonly parameters: P
  readonly prepare: (values: Values<P>) => Spoil
}

/** Binds a kind's parameters to the types that they read as. */
export function defineFault<P extends ParameterTable>(definition: FaultDefinition<P>): FaultKind {
  const { prepare, ...rest } = definition
  // The rules are read by the same table of parameters, so the values have its types.
  return { ...rest, prepare: (values) => prepare(values as Values<P>) }
}

/** The answer with another body, or more, of which no client learns anything about a flight. */
export function unheard(answer: Answer, changes: Partial<Answer> = {}): Answer {
  const { available: _unheard, ...rest } = answer
  return { ...rest, ...changes }
}

/** An answer that has nothing of the honest one. */
export function replaced(body: string | Buffer, changes: Partial<Answer> = {}): Spoilt {
  return { answer: { status: 200, contentType: JSON_TYPE, body, ...changes } }
}
