import type { ServerResponse } from 'node:http'
import { type Answer, JSON_TYPE, OPERATION_NAMES, type OperationName } from '../answer.ts'
import type { ParameterTable, Values } from './fault-parameters.ts'

/** What a fault can use when it is triggered. */
export interface FaultContext {
  readonly endpoint: OperationName
  /** The correct answer. */
  readonly answer: Answer
  /** How often the rule was triggered before: 0 at first. */
  readonly occurrence: number
  /** The real time of the request. */
  readonly now: Date
  /** Path and query of the request, with its token. */
  readonly url: string
  /** What the rule keeps between its answers. */
  readonly kept: Map<string, Answer>
}

/** What is sent instead of the correct answer. */
export interface FaultyAnswer {
  /** Has `available` only if a client can still read it. */
  readonly answer: Answer
  readonly delayMs?: number
  /** Sends the answer. If unset, the answer is sent as usual. */
  readonly send?: Send
  /** False if not even a status is sent. */
  readonly statusSent?: boolean
}

export type Send = (response: ServerResponse, answer: Answer) => void

/** One kind of fault: an entry of the table. */
export interface FaultKind {
  /** One line for the documentation. */
  readonly summary: string
  readonly endpoints: readonly OperationName[]
  readonly parameters: ParameterTable
  /** Takes the context and a value of every parameter. Undefined for an answer that this fault cannot change. */
  readonly corrupt: (
    context: FaultContext & Readonly<Record<string, unknown>>,
  ) => FaultyAnswer | undefined
}

export const LISTS: readonly OperationName[] = ['routes', 'with-availability']
export const JSON_OPERATIONS: readonly OperationName[] = [...LISTS, 'verify', 'booking']

interface FaultDefinition<P extends ParameterTable> {
  readonly summary: string
  /** If unset, the fault is possible at every operation. */
  readonly endpoints?: readonly OperationName[]
  /** If unset, the fault has no parameters. */
  readonly parameters?: P
  readonly corrupt: (context: FaultContext & Values<P>) => FaultyAnswer | undefined
}

export function defineFault<P extends ParameterTable = Record<never, never>>(
  definition: FaultDefinition<P>,
): FaultKind {
  const { summary, endpoints = OPERATION_NAMES, parameters = {}, corrupt } = definition
  // Rules are parsed by the table `parameters`, so `corrupt` receives values of the types that it expects.
  return { summary, endpoints, parameters, corrupt: corrupt as FaultKind['corrupt'] }
}

/** The answer with changes after which a client reads nothing about a flight. */
export function unreadable(answer: Answer, changes: Partial<Answer> = {}): Answer {
  const { available: _unread, ...rest } = answer
  return { ...rest, ...changes }
}

/** An answer that replaces the correct one. */
export function replaced(body: string | Buffer, changes: Partial<Answer> = {}): FaultyAnswer {
  return { answer: { status: 200, contentType: JSON_TYPE, body, ...changes } }
}
