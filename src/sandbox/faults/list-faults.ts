import { draw, mixText } from '../world/random.ts'
import type { Route, RoutePlace } from '../world/wire.ts'
import { defineFault, LISTS, unheard } from './fault-kind.ts'
import { integer } from './fault-parameters.ts'
import { shapeFault } from './shape-fault.ts'

/** Faults of the lists as wholes: each route is well formed, the list is not to be believed. */
export const LIST_FAULTS = {
  'half-list': shapeFault({
    summary: 'the first half of the list',
    parameters: {},
    list: (routes) => routes.slice(0, middleOf(routes)),
  }),
  'two-halves': shapeFault({
    summary: 'the first half for one request, the second for the next, and so on',
    parameters: {},
    list: (routes, _none, { turn }) =>
      turn % 2 === 0 ? routes.slice(0, middleOf(routes)) : routes.slice(middleOf(routes)),
  }),
  'part-list': shapeFault({
    summary: 'the list without about so many percent of its routes, always the same ones',
    parameters: { percent: integer({ min: 1, max: 100, initial: 10 }) },
    list: (routes, { percent }) => routes.filter((route) => lotOf(route) * 100 >= percent),
  }),
  'tenfold-list': shapeFault({
    summary: 'ten times as many routes, between ten times as many places',
    parameters: {},
    list: (routes) =>
      Array.from({ length: 10 }, (_, copy) =>
        copy === 0 ? routes : routes.map((route) => elsewhere(route, copy)),
      ).flat(),
  }),
  'two-lists': defineFault({
    summary: 'the list twice in one body, one array behind the other',
    endpoints: LISTS,
    parameters: {},
    prepare:
      () =>
      ({ answer }) => {
        const body = Buffer.from(answer.body)
        return { answer: unheard(answer, { body: Buffer.concat([body, body]) }) }
      },
  }),
  duplicates: shapeFault({
    summary: 'every route twice in one array',
    parameters: {},
    list: (routes) => routes.flatMap((route) => [route, route]),
  }),
  'conflicting-places': shapeFault({
    summary: 'so many places with another city each second time that they are mentioned',
    parameters: { places: integer({ min: 1, max: 100_000, initial: 1 }) },
    list: (routes, { places }) => withConflicts(routes, places),
  }),
}

function middleOf(routes: readonly Route[]): number {
  return Math.ceil(routes.length / 2)
}

/** A route's lot in [0, 1): it depends on the route alone, so that a part is the same part in every list. */
function lotOf({ departure, destination }: Route): number {
  return draw(mixText(mixText(0, departure.id), destination.id), 0)
}

function elsewhere({ departure, destination }: Route, copy: number): Route {
  const moved = (place: RoutePlace) => ({ ...place, id: `${place.id}-${copy}` })
  return { departure: moved(departure), destination: moved(destination) }
}

function withConflicts(routes: readonly Route[], places: number): Route[] {
  const mentions = new Map<string, number>()
  for (const { departure, destination } of routes) {
    for (const { id } of [departure, destination]) mentions.set(id, (mentions.get(id) ?? 0) + 1)
  }
  const chosen = [...mentions].filter(([, count]) => count > 1).slice(0, places)
  const seen = new Map(chosen.map(([id]) => [id, 0]))
  const spoil = (place: RoutePlace): RoutePlace => {
    const before = seen.get(place.id)
    if (before === undefined) return place
    seen.set(place.id, before + 1)
    return before % 2 === 0 ? place : { ...place, city: `Not ${place.city}` }
  }
  return routes.map(({ departure, destination }) => ({
    departure: spoil(departure),
    destination: spoil(destination),
  }))
}
