import { draw, mixText } from '../world/random.ts'
import type { Flight, FlightPlace, Route, RoutePlace, VerifyResult } from '../world/wire.ts'
import type { FaultKind } from './fault-kind.ts'
import { integer, oneOf } from './fault-parameters.ts'
import { changeFlights, jsonFault } from './json-fault.ts'

const ODD_TEXTS = ['🛫🏝️', 'ירושלים \u202e', '=1+1', '<script>alert(1)</script>', "'); drop table"]
const ODD_IATA = ['', ' ', 'pm', 'PMIX', 'pmi', null, 7, undefined]

type AnyPlace = RoutePlace | FlightPlace

/** Faults of single fields, in the places of a list and in the flights of a verify answer. */
export const FIELD_FAULTS = {
  'numeric-ids': jsonFault({
    summary: 'ids of the other type: numbers in lists, texts in flights',
    list: (routes) => changePlaces(routes, 100, (place) => ({ ...place, id: numberOf(place.id) })),
    result: (result) =>
      changeFlights(result, (flight) => ({
        ...changeFlightPlaces(flight, (place) => ({ ...place, id: String(place.id) })),
        id: String(flight.id),
      })),
  }),
  'odd-iata': placeFault(
    'codes empty, missing, null, numeric or of another length, in about so many percent',
    (place) => ({ ...place, iata: pick(ODD_IATA, place.id) }),
  ),
  'nul-text': placeFault(
    'a NUL in the cities of about so many percent of the places',
    withCityEnd('\u0000'),
  ),
  'lone-surrogates': placeFault(
    'half an emoji in the cities of about so many percent of the places',
    withCityEnd('\ud83d'),
  ),
  'odd-text': placeFault(
    'cities of emoji, right-to-left text, formulas, markup and SQL',
    (place) => ({ ...place, city: pick(ODD_TEXTS, place.id) }),
  ),
  'extra-fields': jsonFault({
    summary: 'fields that the interface does not have, at every level',
    list: (routes) =>
      changePlaces(routes, 100, (place) => ({ ...place, timeZone: 'UTC' })).map(withExtra),
    result: (result) =>
      changeEntries(
        changeFlights(result, (flight) => ({ ...flight, baggage: { cabin: 1 } })),
        withExtra,
      ),
  }),
  'proto-key': jsonFault({
    summary: 'keys named `__proto__` and `constructor`, in every entry and next to the entries',
    list: (routes) => routes.map(withProto),
    result: (result) => withProto(changeEntries(result, withProto) ?? {}),
  }),
  'changed-shapes': jsonFault({
    summary: 'the fields renamed, or everything one level deeper',
    parameters: { change: oneOf('renamed', 'nested') },
    list: (routes, { change }) =>
      change === 'nested'
        ? { routes }
        : routes.map(({ departure, destination }) => ({ from: departure, to: destination })),
    result: (result, { change }) => (change === 'nested' ? { flights: result } : renamed(result)),
  }),
}

/** Changes so many percent of the places of a list, or every place of a flight. */
function placeFault(summary: string, change: (place: AnyPlace) => object): FaultKind {
  return jsonFault({
    summary,
    parameters: { percent: integer({ min: 1, max: 100, initial: 10 }) },
    list: (routes, { percent }) => changePlaces(routes, percent, change),
    result: (result) => changeFlights(result, (flight) => changeFlightPlaces(flight, change)),
  })
}

/** Changes about so many percent of the places. One place changes in the same way everywhere. */
function changePlaces(
  routes: readonly Route[],
  percent: number,
  change: (place: RoutePlace) => object,
): { departure: object; destination: object }[] {
  const changed = (place: RoutePlace) =>
    draw(mixText(0, place.id), 0) * 100 < percent ? change(place) : place
  return routes.map(({ departure, destination }) => ({
    departure: changed(departure),
    destination: changed(destination),
  }))
}

function changeFlightPlaces(flight: Flight, change: (place: FlightPlace) => object): object {
  const ends = ({ from, to }: Pick<Flight, 'from' | 'to'>) => ({
    from: change(from),
    to: change(to),
  })
  return { ...flight, ...ends(flight), legs: flight.legs.map((leg) => ({ ...leg, ...ends(leg) })) }
}

function changeEntries(
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

function withExtra(value: object): object {
  return { ...value, extra: { since: 2 } }
}

/** Own properties, as JSON.parse makes them: an assignment to __proto__ would change the prototype. */
function withProto(value: object): object {
  const poison = { available: true, isAdmin: true }
  return Object.fromEntries([
    ...Object.entries(value),
    ['__proto__', poison],
    ['constructor', { prototype: poison }],
  ])
}

function withCityEnd(end: string): (place: AnyPlace) => object {
  return (place) => ({ ...place, city: `${place.city}${end}` })
}

function pick<T>(list: readonly T[], id: string | number): T | undefined {
  return list[Math.floor(draw(mixText(0, String(id)), 1) * list.length)]
}

/** Text that is no number stays text. */
function numberOf(id: string): string | number {
  return /^\d{1,15}$/.test(id) ? Number(id) : id
}
