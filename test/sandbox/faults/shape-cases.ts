import { expect } from 'vitest'
import type { FIELD_FAULTS } from '../../../sandbox/faults/field-faults.ts'
import type { LIST_FAULTS } from '../../../sandbox/faults/list-faults.ts'
import type { Route, RoutePlace } from '../../../sandbox/world/wire.ts'
import { type FaultCase, flightOf, jsonOf, routesOf, unanswered, unfaulted } from './fault-case.ts'
import type { FaultFixture } from './fault-fixture.ts'

type Names = keyof typeof LIST_FAULTS | keyof typeof FIELD_FAULTS

export const SHAPE_CASES: Record<Names, FaultCase[]> = {
  'half-list': [
    list({}, (routes, truthful) =>
      expect(routes).toEqual(truthful.slice(0, Math.ceil(truthful.length / 2))),
    ),
  ],
  'two-halves': [
    // Another test checks the answer to the second request.
    list({}, (routes, truthful) =>
      expect(routes).toEqual(truthful.slice(0, Math.ceil(truthful.length / 2))),
    ),
  ],
  'part-list': [10, 20].map((percent) =>
    list({ percent }, (routes, truthful) => {
      const names = new Set(truthful.map(nameOf))
      expect(routes.every((route) => names.has(nameOf(route)))).toBe(true)
      expect(routes.length / truthful.length).toBeCloseTo(1 - percent / 100, 1)
    }),
  ),
  'tenfold-list': [
    list({}, (routes, truthful) => {
      expect(routes.length).toBe(10 * truthful.length)
      expect(new Set(routes.map(nameOf)).size).toBe(10 * truthful.length)
      expect(routes.slice(0, truthful.length)).toEqual(truthful)
    }),
  ],
  'two-lists': [
    {
      at: 'routes',
      outcome: unanswered(),
      received: (received, { routes }) => {
        const once = JSON.stringify(routes)
        expect(received.body.toString()).toBe(`${once}${once}`)
      },
    },
  ],
  duplicates: [
    list({}, (routes, truthful) => {
      expect(routes.length).toBe(2 * truthful.length)
      expect(new Set(routes.map(nameOf)).size).toBe(truthful.length)
    }),
  ],
  'conflicting-places': [
    list({ places: 3 }, (routes, truthful) => {
      const torn = [...citiesOf(routes).values()].filter((cities) => cities.size > 1)
      expect(torn.map((cities) => cities.size)).toEqual([2, 2, 2])
      expect(routes.map(nameOf)).toEqual(truthful.map(nameOf))
    }),
  ],
  'numeric-ids': [
    list({}, (routes, truthful) =>
      expect(routes.map(({ departure }) => departure.id)).toEqual(
        truthful.map(({ departure }) => Number(departure.id)),
      ),
    ),
    verified((received, { open, flight }) =>
      expect(flightOf(received, open)).toMatchObject({
        id: open,
        from: { id: String(flight.from.id) },
        legs: [{ from: { id: String(flight.from.id) } }],
      }),
    ),
  ],
  'odd-iata': [
    list({ percent: 50 }, (routes) => {
      const codes = new Set(placesOf(routes).map(({ iata }) => iata))
      for (const odd of ['', ' ', 'pm', 'PMIX', null, 7, undefined]) expect(codes).toContain(odd)
      expect(codes).toContain(placesOf(routes).find(({ iata }) => /^[A-Z]{3}$/.test(iata))?.iata)
    }),
    verified((received, { open, flight }) =>
      expect(flightOf(received, open).from.iata).not.toBe(flight.from.iata),
    ),
  ],
  'nul-text': cities(/\0$/),
  'lone-surrogates': cities(/[\ud800-\udfff]$/),
  'odd-text': cities(/🛫|\u202e|^=|<script>|drop table/),
  'extra-fields': [
    list({}, (routes, truthful) => {
      expect(routes).toMatchObject(truthful)
      expect(routes[0]).toMatchObject({ extra: {}, departure: { timeZone: 'UTC' } })
    }),
    verified((received, { open, result }) => {
      expect(jsonOf(received)).toMatchObject(result)
      expect(flightOf(received, open)).toHaveProperty('baggage')
    }),
  ],
  'proto-key': [
    list({}, (routes, truthful) => {
      expect(routes.length).toBe(truthful.length)
      expect(Object.keys(routes[0] ?? {})).toContain('__proto__')
    }),
    verified((received, { open, sold }) => {
      const result = jsonOf(received) as Record<string, object>
      expect(new Set(Object.keys(result))).toEqual(
        new Set([open, sold, '__proto__', 'constructor']),
      )
      expect(Object.keys(result[sold] ?? {})).toContain('__proto__')
    }),
  ],
  'changed-shapes': [
    list({ change: 'renamed' }, (routes, truthful) =>
      expect(routes).toEqual(
        truthful.map((route) => ({ from: route.departure, to: route.destination })),
      ),
    ),
    {
      at: 'with-availability',
      parameters: { change: 'nested' },
      outcome: unanswered(),
      received: (received) => expect(jsonOf(received)).toEqual({ routes: expect.any(Array) }),
    },
    {
      at: 'verify',
      parameters: { change: 'renamed' },
      outcome: () => ({ status: 200, available: {} }),
      received: (received, { sold }) =>
        expect(jsonOf(received)).toMatchObject({ [sold]: { bookable: false } }),
    },
    {
      at: 'verify',
      parameters: { change: 'nested' },
      outcome: () => ({ status: 200, available: {} }),
      received: (received, { result }) => expect(jsonOf(received)).toEqual({ flights: result }),
    },
  ],
}

function list(
  parameters: Record<string, string | number>,
  expectation: (routes: Route[], truthful: readonly Route[]) => void,
): FaultCase {
  return {
    at: 'routes',
    parameters,
    outcome: unanswered(),
    received: (received, { routes }) => expectation(routesOf(received), routes),
  }
}

function verified(received: FaultCase['received']): FaultCase {
  return { at: 'verify', outcome: unfaulted, received }
}

function cities(odd: RegExp): FaultCase[] {
  return [
    list({ percent: 20 }, (routes, truthful) => {
      const share = placesOf(routes).filter(({ city }) => odd.test(city)).length
      expect(share / placesOf(truthful).length).toBeCloseTo(0.2, 0)
      expect(share).toBeGreaterThan(10)
    }),
    verified((received, { open }: FaultFixture) =>
      expect(flightOf(received, open).from.city).toMatch(odd),
    ),
  ]
}

function nameOf({ departure, destination }: Route): string {
  return `${departure.id}>${destination.id}`
}

function placesOf(routes: readonly Route[]): RoutePlace[] {
  return routes.flatMap(({ departure, destination }) => [departure, destination])
}

function citiesOf(routes: readonly Route[]): Map<string, Set<string>> {
  const places = Map.groupBy(placesOf(routes), ({ id }) => id)
  return new Map([...places].map(([id, some]) => [id, new Set(some.map(({ city }) => city))]))
}
