import type { RequestedFlights } from '../answer.ts'
import { readAvailability } from '../verify-fares.ts'
import type { Flight, Route, VerifyEntry, VerifyResult } from '../world/wire.ts'
import {
  defineFault,
  type FaultContext,
  type FaultKind,
  type FaultyAnswer,
  LISTS,
  unreadable,
} from './fault-kind.ts'
import type { ParameterTable, Values } from './fault-parameters.ts'

/** What a change of a verify result can use. */
export interface ResultContext extends FaultContext {
  readonly requested: RequestedFlights
  /** The flight of an entry, or of another entry that can be booked if this one has none. */
  readonly flightOf: (id: string) => Flight | undefined
}

/** A fault that changes the JSON of an answer. It applies to the operations for which it has a change. */
interface JsonFaultDefinition<P extends ParameterTable> {
  readonly summary: string
  /** If unset, the fault has no parameters. */
  readonly parameters?: P
  /** Changes a route list. */
  readonly list?: (routes: readonly Route[], context: FaultContext & Values<P>) => unknown
  /** Changes a verify result; undefined if there is nothing to change. */
  readonly result?: (result: VerifyResult, context: ResultContext & Values<P>) => unknown
}

/**
 * Error answers stay as they are. The request log gets the availability that a client reads from the changed
 * result.
 */
export function jsonFault<P extends ParameterTable = Record<never, never>>(
  definition: JsonFaultDefinition<P>,
): FaultKind {
  const { list, result, ...rest } = definition
  return defineFault<P>({
    ...rest,
    endpoints: [...(list ? LISTS : []), ...(result ? (['verify'] as const) : [])],
    corrupt: (context) => {
      const { status, body, requested } = context.answer
      if (status !== 200) return undefined
      const correct: unknown = JSON.parse(body.toString())
      if (Array.isArray(correct)) {
        return list && withBody(context, list(correct as Route[], context))
      }
      if (!result || !requested) return undefined
      const entries = correct as VerifyResult
      const flightOf = (id: string) => {
        const entry = Object.hasOwn(entries, id) ? entries[id] : undefined
        return entry?.available ? entry.flight : requested.otherFlight()
      }
      return withBody(context, result(entries, { ...context, requested, flightOf }), requested.ids)
    },
  })
}

function withBody(
  { answer }: FaultContext,
  value: unknown,
  ids?: readonly string[],
): FaultyAnswer | undefined {
  if (value === undefined) return undefined
  const read = ids === undefined ? {} : { available: readAvailability(ids, value) }
  return { answer: unreadable(answer, { body: JSON.stringify(value), ...read }) }
}

/** Changes every flight of a result; undefined if there is none. */
export function changeFlights(
  result: VerifyResult,
  change: (flight: Flight) => object,
): object | undefined {
  const entries = Object.entries(result)
  if (!entries.some(([, { available }]) => available)) return undefined
  const changed = (entry: VerifyEntry) =>
    entry.available ? { ...entry, flight: change(entry.flight) } : entry
  return Object.fromEntries(entries.map(([id, entry]) => [id, changed(entry)]))
}
