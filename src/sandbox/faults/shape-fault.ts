import type { Asked } from '../answer.ts'
import { whatIsSaid } from '../verify-fares.ts'
import type { Flight, Route, VerifyEntry, VerifyResult } from '../world/wire.ts'
import {
  defineFault,
  type FaultKind,
  LISTS,
  type Scene,
  type Spoilt,
  unheard,
} from './fault-kind.ts'
import type { ParameterTable, Values } from './fault-parameters.ts'

/** What a change of a verify result has at hand. */
export interface ResultScene extends Scene {
  readonly asked: Asked
  /** The flight of an entry, or where it has none, another one that can be booked. */
  readonly flightOf: (id: string) => Flight | undefined
}

/** A fault that changes the JSON of an answer; it strikes the endpoints for which it has a change. */
export interface ShapeDefinition<P extends ParameterTable> {
  readonly summary: string
  readonly parameters: P
  /** The list to send in place of the honest one. */
  readonly list?: (routes: readonly Route[], values: Values<P>, scene: Scene) => unknown
  /** The result to send in place of the honest one; undefined where there is nothing to change. */
  readonly result?: (result: VerifyResult, values: Values<P>, scene: ResultScene) => unknown
}

/** Such a fault changes no refusal: that has no shape to spoil. The log says what the changed answer says. */
export function shapeFault<P extends ParameterTable>(definition: ShapeDefinition<P>): FaultKind {
  const { summary, parameters, list, result } = definition
  return defineFault({
    summary,
    parameters,
    endpoints: [...(list ? LISTS : []), ...(result ? (['verify'] as const) : [])],
    prepare: (values) => (scene) => {
      if (scene.answer.status !== 200) return undefined
      const honest: unknown = JSON.parse(scene.answer.body.toString())
      if (Array.isArray(honest)) {
        return list && withBody(scene, list(honest as Route[], values, scene))
      }
      const { asked } = scene.answer
      if (!result || !asked) return undefined
      const flights = honest as VerifyResult
      return withBody(scene, result(flights, values, resultScene(scene, asked, flights)), asked)
    },
  })
}

function resultScene(scene: Scene, asked: Asked, result: VerifyResult): ResultScene {
  const flightOf = (id: string) => {
    const entry = Object.hasOwn(result, id) ? result[id] : undefined
    return entry?.available ? entry.flight : asked.otherFlight()
  }
  return { ...scene, asked, flightOf }
}

function withBody({ answer }: Scene, value: unknown, asked?: Asked): Spoilt | undefined {
  if (value === undefined) return undefined
  const said = asked === undefined ? {} : { available: whatIsSaid(asked.ids, value) }
  return { answer: unheard(answer, { body: JSON.stringify(value), ...said }) }
}

/** Changes every flight of a result; undefined where there is none. */
export function inFlights(
  result: VerifyResult,
  change: (flight: Flight) => object,
): object | undefined {
  const entries = Object.entries(result)
  if (!entries.some(([, { available }]) => available)) return undefined
  const changed = (entry: VerifyEntry) =>
    entry.available ? { ...entry, flight: change(entry.flight) } : entry
  return Object.fromEntries(entries.map(([id, entry]) => [id, changed(entry)]))
}
