import { expect } from 'vitest'
import type { FIELD_FAULTS } from '../../../src/sandbox/faults/field-faults.ts'
import type { LIST_FAULTS } from '../../../src/sandbox/faults/list-faults.ts'
import type { Route, RoutePlace } from '../../../src/sandbox/world/wire.ts'
import { type FaultCase, flightOf, honestly, jsonOf, routesOf, unsaid } from './fault-case.ts'
import type { Ground } from './ground.ts'

type Names = keyof typeof LIST_FAULTS | keyof typeof FIELD_FAULTS

export const SHAPE_CASES: Record<Names, FaultCase[]> = {
  'half-list': [
    list({}, (routes, honest) =>
      expect(routes).toEqual(honest.slice(0, Math.ceil(honest.length / 2))),
    ),
  ],
  'two-halves': [
    // What the second request gets is a test of its own.
    list({}, (routes, honest) =>
      expect(routes).toEqual(honest.slice(0, Math.ceil(honest.length / 2))),
    ),
  ],
  'part-list': [10, 20].map((percent) =>
    list({ percent }, (routes, honest) => {
      const names = new Set(honest.map(nameOf))
      expect(routes.every((route) => names.has(nameOf(route)))).toBe(true)
      expect(routes.length / honest.length).toBeCloseTo(1 - percent / 100, 1)
    }),
  ),
  'tenfold-list': [
    list({}, (routes, honest) => {
      expect(routes.length).toBe(10 * honest.length)
      expect(new Set(routes.map(nameOf)).size).toBe(10 * honest.length)
      expect(routes.slice(0, honest.length)).toEqual(honest)
    }),
  ],
  'two-lists': [
    {
      at: 'routes',
      outcome: unsaid(),
      heard: (heard, { routes }) => {
        const once = JSON.stringify(routes)
        expect(heard.body.toString()).toBe(`${once}${once}`)
      },
    },
  ],
  duplicates: [
    list({}, (routes, honest) => {
      expect(routes.length).toBe(2 * honest.length)
      expect(new Set(routes.map(nameOf)).size).toBe(honest.length)
    }),
  ],
  'conflicting-places': [
    list({ places: 3 }, (routes, honest) => {
      const torn = [...citiesOf(routes).values()].filter((cities) => cities.size > 1)
      expect(torn.map((cities) => cities.size)).toEqual([2, 2, 2])
      expect(routes.map(nameOf)).toEqual(honest.map(nameOf))
    }),
  ],
  'numeric-ids': [
    list({}, (routes, honest) =>
      expect(routes.map(({ departure }) => departure.id)).toEqual(
        honest.map(({ departure }) => Number(departure.id)),
      ),
    ),
    verified((heard, { open, flight }) =>
      expect(flightOf(heard, open)).toMatchObject({
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
    verified((heard, { open, flight }) =>
      expect(flightOf(heard, open).from.iata).not.toBe(flight.from.iata),
    ),
  ],
  'nul-text': cities(/\0$/),
  'lone-surrogates': cities(/[\ud800-\udfff]$/),
  'odd-text': cities(/🛫|\u202e|^=|<script>|drop table/),
  'extra-fields': [
    list({}, (routes, honest) => {
      expect(routes).toMatchObject(honest)
      expect(routes[0]).toMatchObject({ extra: {}, departure: { timeZone: 'UTC' } })
    }),
    verified((heard, { open, result }) => {
      expect(jsonOf(heard)).toMatchObject(result)
      expect(flightOf(heard, open)).toHaveProperty('baggage')
    }),
  ],
  'proto-key': [
    list({}, (routes, honest) => {
      expect(routes.length).toBe(honest.length)
      expect(Object.keys(routes[0] ?? {})).toContain('__proto__')
    }),
    verified((heard, { open, sold }) => {
      const result = jsonOf(heard) as Record<string, object>
      expect(new Set(Object.keys(result))).toEqual(
        new Set([open, sold, '__proto__', 'constructor']),
      )
      expect(Object.keys(result[sold] ?? {})).toContain('__proto__')
    }),
  ],
  'changed-shapes': [
    list({ change: 'renamed' }, (routes, honest) =>
      expect(routes).toEqual(
        honest.map((route) => ({ from: route.departure, to: route.destination })),
      ),
    ),
    {
      at: 'with-availability',
      parameters: { change: 'nested' },
      outcome: unsaid(),
      heard: (heard) => expect(jsonOf(heard)).toEqual({ routes: expect.any(Array) }),
    },
    {
      at: 'verify',
      parameters: { change: 'renamed' },
      outcome: () => ({ status: 200, available: {} }),
      heard: (heard, { sold }) =>
        expect(jsonOf(heard)).toMatchObject({ [sold]: { bookable: false } }),
    },
    {
      at: 'verify',
      parameters: { change: 'nested' },
      outcome: () => ({ status: 200, available: {} }),
      heard: (heard, { result }) => expect(jsonOf(heard)).toEqual({ flights: result }),
    },
  ],
}

function list(
  parameters: Record<string, string | number>,
  look: (routes: Route[], honest: readonly Route[]) => void,
): FaultCase {
  return {
    at: 'routes',
    parameters,
    outcome: unsaid(),
    heard: (heard, { routes }) => look(routesOf(heard), routes),
  }
}

function verified(heard: FaultCase['heard']): FaultCase {
  return { at: 'verify', outcome: honestly, heard }
}

function cities(odd: RegExp): FaultCase[] {
  return [
    list({ percent: 20 }, (routes, honest) => {
      const share = placesOf(routes).filter(({ city }) => odd.test(city)).length
      expect(share / placesOf(honest).length).toBeCloseTo(0.2, 0)
      expect(share).toBeGreaterThan(10)
    }),
    verified((heard, { open }: Ground) => expect(flightOf(heard, open).from.city).toMatch(odd)),
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
