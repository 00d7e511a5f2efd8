import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { fareHistory, fareStateAt, sameState } from '../../sandbox/world/fare-life.ts'
import { dayOf, type Flight, findFlight, flightIdOf } from '../../sandbox/world/flight-schedule.ts'
import {
  type RouteState,
  routeHistory,
  routesAt,
  routesWithAvailabilityAt,
} from '../../sandbox/world/route-life.ts'
import type { Route } from '../../sandbox/world/wire.ts'
import { createWorld, type World } from '../../sandbox/world/world.ts'
import { DAY_MS, later, START, sample } from './support.ts'

const world = createWorld({ seed: 1 })

function flightOf(id: string): Flight {
  const flight = findFlight(world, id)
  if (!flight) throw new Error(`no flight ${id}`)
  return flight
}

const flights = sample(world.pairs, 300).map((pair, index) =>
  flightOf(flightIdOf({ pair, day: dayOf(START) + 130 + (index % 7), number: 0 })),
)

describe('a flight id', () => {
  it('with any other form has no flight', () => {
    const good = String(flights[0]?.id)
    const texts = ['', '0', '1', good.slice(1), `${good}0`, `0${good}`, ` ${good}`, `${good}\n`]
    const others = [good.replace(/.$/, '9'), '101101206000', '101103206001.5', '1e11', '__proto__']

    expect([...texts, ...others].filter((text) => findFlight(world, text))).toEqual([])
  })
})

describe('a fare', () => {
  it('is the same in every world of a seed, in whatever order instants are computed', () => {
    const again = createWorld({ seed: 1 })
    const instants = [100, 3, 120, 50].map((day) => later(day).getTime())

    for (const flight of flights.slice(0, 50)) {
      const twin = findFlight(again, String(flight.id))
      const states = instants.map((instant) => fareStateAt(flight, instant))

      expect(twin).toEqual(flight)
      expect(instants.toReversed().map((at) => fareStateAt(flight, at))).toEqual(
        states.toReversed(),
      )
    }
  })

  it('has a history that leads from the state at one instant to the state at a later one', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...flights),
        fc.double({ min: -5, max: 130, noNaN: true }),
        fc.double({ min: 0, max: 130, noNaN: true }),
        fc.double({ min: 0, max: 1, noNaN: true }),
        (flight, day, days, part) => {
          const from = new Date(flight.saleOpensAt + Math.round(day * DAY_MS))
          const to = later(days, from)
          const between = new Date(Math.floor(from.getTime() + part * days * DAY_MS))

          const history = fareHistory(world, String(flight.id), { from, to })

          const first = fareStateAt(flight, from.getTime())
          const upTo = history.filter((step) => step.at <= between)
          expect(upTo.at(-1)?.after ?? first).toEqual(fareStateAt(flight, between.getTime()))
          expect(history.at(-1)?.after ?? first).toEqual(fareStateAt(flight, to.getTime()))
          expect(history.filter((step) => sameState(step.before, step.after))).toEqual([])
          for (const { at, before, after } of history) {
            expect(fareStateAt(flight, at.getTime())).toEqual(after)
            expect(fareStateAt(flight, at.getTime() - 1)).toEqual(before)
          }
        },
      ),
      { numRuns: 500, seed: 1 },
    )
  })
})

const nameOf = (route: Route) => `${route.departure.id}>${route.destination.id}`

const namesAt = (instant: Date) => new Set(routesAt(world, instant).map(nameOf))

const availableAt = (instant: Date) => new Set(routesWithAvailabilityAt(world, instant).map(nameOf))

function fingerprint(of: World, instants: readonly Date[]): string {
  const hash = createHash('sha256')
  for (const instant of instants) {
    hash.update(JSON.stringify(routesAt(of, instant)))
    hash.update(JSON.stringify(routesWithAvailabilityAt(of, instant)))
  }
  return hash.digest('hex')
}

describe('the routes of a world', () => {
  const days = [0, 0.5, 3, 40, 365, 3650].map((day) => later(day))

  it('are the same bytes for one seed, and different for another', () => {
    const again = createWorld({ seed: 1 })
    const other = createWorld({ seed: 2 })

    expect(fingerprint(again, days)).toBe(fingerprint(world, days))
    expect(fingerprint(other, days)).not.toBe(fingerprint(world, days))
  })
})

describe('routeHistory', () => {
  const changing = sample(world.pairs, 120).concat(
    world.pairs.filter((pair) => pair.pattern.kind !== 'all-year').slice(0, 80),
  )

  function stateAt(name: string, instant: Date): RouteState {
    return { live: namesAt(instant).has(name), available: availableAt(instant).has(name) }
  }

  it('leads from the state at one instant to the state at a later one', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...changing),
        fc.integer({ min: 0, max: 800 * 24 * 60 }),
        fc.integer({ min: 0, max: 90 * 24 * 60 }),
        (pair, startMinute, minutes) => {
          const from = later(startMinute / (24 * 60))
          const to = later(minutes / (24 * 60), from)
          const { departure, destination } = pair.route
          const ids = { departureId: departure.id, destinationId: destination.id }

          const history = routeHistory(world, ids, { from, to })

          const states = [stateAt(nameOf(pair.route), from), ...history.map((step) => step.after)]
          expect(history.map((step) => step.before)).toEqual(states.slice(0, -1))
          expect(states.at(-1)).toEqual(stateAt(nameOf(pair.route), to))
          for (const { at, before, after } of history) {
            expect(stateAt(nameOf(pair.route), at)).toEqual(after)
            expect(stateAt(nameOf(pair.route), new Date(at.getTime() - 1))).toEqual(before)
          }
        },
      ),
      { numRuns: 60, seed: 1 },
    )
  })
})
