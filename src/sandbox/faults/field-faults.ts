import { draw, mixText } from '../world/random.ts'
import type { Flight, FlightPlace, Route, RoutePlace, VerifyResult } from '../world/wire.ts'
import { integer, oneOf } from './fault-parameters.ts'
import { inFlights, shapeFault } from './shape-fault.ts'

const percent = integer({ min: 1, max: 100, initial: 10 })
const ODD_TEXTS = ['🛫🏝️', 'ירושלים \u202e', '=1+1', '<script>alert(1)</script>', "'); drop table"]
const ODD_IATA = ['', ' ', 'pm', 'PMIX', 'pmi', null, 7, undefined]

/** Faults of single fields, in the places of a list and in the flights of a verify answer. */
export const FIELD_FAULTS = {
  'numeric-ids': shapeFault({
    summary: 'ids of the other type: numbers in lists, texts in flights',
    parameters: {},
    list: (routes) => inPlaces(routes, 100, (place) => ({ ...place, id: numberOf(place.id) })),
    result: (result) =>
      inFlights(result, (flight) => ({
        ...inFlightPlaces(flight, (place) => ({ ...place, id: String(place.id) })),
        id: String(flight.id),
      })),
  }),
  'odd-iata': shapeFault({
    summary: 'codes empty, missing, null, numeric or of another length, in about so many percent',
    parameters: { percent },
    list: (routes, given) => inPlaces(routes, given.percent, oddIata),
    result: (result) => inFlights(result, (flight) => inFlightPlaces(flight, oddIata)),
  }),
  'nul-text': shapeFault({
    summary: 'a NUL in the cities of about so many percent of the places',
    parameters: { percent },
    list: (routes, given) => inPlaces(routes, given.percent, withCity('\u0000')),
    result: (result) => inFlights(result, (flight) => inFlightPlaces(flight, withCity('\u0000'))),
  }),
  'lone-surrogates': shapeFault({
    summary: 'half an emoji in the cities of about so many percent of the places',
    parameters: { percent },
    list: (routes, given) => inPlaces(routes, given.percent, withCity('\ud83d')),
    result: (result) => inFlights(result, (flight) => inFlightPlaces(flight, withCity('\ud83d'))),
  }),
  'odd-text': shapeFault({
    summary: 'cities of emoji, right-to-left text, formulas, markup and SQL',
    parameters: { percent },
    list: (routes, given) => inPlaces(routes, given.percent, oddCity),
    result: (result) => inFlights(result, (flight) => inFlightPlaces(flight, oddCity)),
  }),
  'extra-fields': shapeFault({
    summary: 'fields that the interface does not have, at every level',
    parameters: {},
    list: (routes) =>
      inPlaces(routes, 100, (place) => ({ ...place, timeZone: 'UTC' })).map(withNews),
    result: (result) =>
      inEntries(
        inFlights(result, (flight) => ({ ...flight, baggage: { cabin: 1 } })),
        withNews,
      ),
  }),
  'proto-key': shapeFault({
    summary: 'keys named __proto__ and constructor, in every route or entry and beside the entries',
    parameters: {},
    list: (routes) => routes.map(withProto),
    result: (result) => withProto(inEntries(result, withProto) ?? {}),
  }),
  'changed-shapes': shapeFault({
    summary: 'the fields renamed, or all of it one level deeper',
    parameters: { change: oneOf('renamed', 'nested') },
    list: (routes, { change }) =>
      change === 'nested'
        ? { routes }
        : routes.map(({ departure, destination }) => ({ from: departure, to: destination })),
    result: (result, { change }) => (change === 'nested' ? { flights: result } : renamed(result)),
  }),
}

/** Changes about so many percent of the places, the same place in the same way wherever it stands. */
function inPlaces(
  routes: readonly Route[],
  share: number,
  change: (place: RoutePlace) => object,
): { departure: object; destination: object }[] {
  const spoil = (place: RoutePlace) => (lotOf(place.id) * 100 < share ? change(place) : place)
  return routes.map(({ departure, destination }) => ({
    departure: spoil(departure),
    destination: spoil(destination),
  }))
}

function inFlightPlaces(flight: Flight, change: (place: FlightPlace) => object): object {
  const { legs } = flight
  return {
    ...flight,
    from: change(flight.from),
    to: change(flight.to),
    legs: legs.map((leg) => ({ ...leg, from: change(leg.from), to: change(leg.to) })),
  }
}

function inEntries(
  result: object | undefined,
  change: (entry: object) => object,
): object | undefined {
  if (result === undefined) return undefined
  return Object.fromEntries(Object.entries(result).map(([id, entry]) => [id, change(entry)]))
}

function renamed(result: VerifyResult): object {
  return Object.fromEntries(
    Object.entries(result).map(([id, { available, ...rest }]) => [
      id,
      { bookable: available, ...rest },
    ]),
  )
}

function withNews(value: object): object {
  return { ...value, news: { since: 2 } }
}

/** As JSON.parse makes it: an own property, where a plain assignment would change the prototype. */
function withProto(value: object): object {
  const poison = { available: true, isAdmin: true }
  return Object.fromEntries([
    ...Object.entries(value),
    ['__proto__', poison],
    ['constructor', { prototype: poison }],
  ])
}

function oddIata<P extends RoutePlace | FlightPlace>(place: P): object {
  return { ...place, iata: pick(ODD_IATA, place.id) }
}

function oddCity<P extends RoutePlace | FlightPlace>(place: P): object {
  return { ...place, city: pick(ODD_TEXTS, place.id) }
}

function withCity(end: string): (place: RoutePlace | FlightPlace) => object {
  return (place) => ({ ...place, city: `${place.city}${end}` })
}

function pick<T>(list: readonly T[], id: string | number): T | undefined {
  return list[Math.floor(draw(mixText(0, String(id)), 1) * list.length)]
}

function lotOf(id: string): number {
  return draw(mixText(0, id), 0)
}

/** A text that is no number stays one. */
function numberOf(id: string): string | number {
  return /^\d{1,15}$/.test(id) ? Number(id) : id
}
