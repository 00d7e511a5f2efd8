import { draw, mixText } from '../world/random.ts'
import type { Route, RoutePlace } from '../world/wire.ts'
import { defineFault, LISTS, unreadable } from './fault-kind.ts'
import { integer } from './fault-parameters.ts'
import { jsonFault } from './json-fault.ts'

/** Faults of whole lists: each route is well formed, but the list is wrong. */
export const LIST_FAULTS = {
  'half-list': jsonFault({
    summary: 'the first half of the list',
    list: (routes) => routes.slice(0, middleOf(routes)),
  }),
  'two-halves': jsonFault({
    summary: 'the first half for one request, the second for the next',
    list: (routes, { occurrence }) =>
      occurrence % 2 === 0 ? routes.slice(0, middleOf(routes)) : routes.slice(middleOf(routes)),
  }),
  'part-list': jsonFault({
    summary: 'without about so many percent of its routes, always the same ones',
    parameters: { percent: integer({ min: 1, max: 100, initial: 10 }) },
    list: (routes, { percent }) => routes.filter((route) => drawOf(route) * 100 >= percent),
  }),
  'tenfold-list': jsonFault({
    summary: 'ten times the routes and places',
    list: (routes) =>
      Array.from({ length: 10 }, (_, copy) =>
        copy === 0 ? routes : routes.map((route) => copied(route, copy)),
      ).flat(),
  }),
  'two-lists': defineFault({
    summary: 'the array twice in one body',
    endpoints: LISTS,
    corrupt: ({ answer }) => {
      const body = Buffer.from(answer.body)
      return { answer: unreadable(answer, { body: Buffer.concat([body, body]) }) }
    },
  }),
  duplicates: jsonFault({
    summary: 'every route twice in one array',
    list: (routes) => routes.flatMap((route) => [route, route]),
  }),
  'conflicting-places': jsonFault({
    summary: 'so many places with another city every second time',
    parameters: { places: integer({ min: 1, max: 100_000, initial: 1 }) },
    list: (routes, { places }) => withConflicts(routes, places),
  }),
}

function middleOf(routes: readonly Route[]): number {
  return Math.ceil(routes.length / 2)
}

/** A number in [0, 1) that depends on the route alone, so that every list lacks the same routes. */
function drawOf({ departure, destination }: Route): number {
  return draw(mixText(mixText(0, departure.id), destination.id), 0)
}

function copied({ departure, destination }: Route, copy: number): Route {
  const place = (of: RoutePlace) => ({ ...of, id: `${of.id}-${copy}` })
  return { departure: place(departure), destination: place(destination) }
}

function withConflicts(routes: readonly Route[], places: number): Route[] {
  const ids = routes.flatMap(({ departure, destination }) => [departure.id, destination.id])
  const counts = Map.groupBy(ids, (id) => id)
  const chosen = [...counts].filter(([, { length }]) => length > 1).slice(0, places)
  const seen = new Map(chosen.map(([id]) => [id, 0]))
  const corrupted = (place: RoutePlace): RoutePlace => {
    const before = seen.get(place.id)
    if (before === undefined) return place
    seen.set(place.id, before + 1)
    return before % 2 === 0 ? place : { ...place, city: `Not ${place.city}` }
  }
  return routes.map(({ departure, destination }) => ({
    departure: corrupted(departure),
    destination: corrupted(destination),
  }))
}
