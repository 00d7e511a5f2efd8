import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  type RouteState,
  routeHistory,
  routesAt,
  routesWithAvailabilityAt,
} from '../../sandbox/world/route-life.ts'
import type { Route } from '../../sandbox/world/wire.ts'
import { createWorld, type World } from '../../sandbox/world/world.ts'
import { later, START, sample } from './support.ts'

const world = createWorld({ seed: 1 })
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

  it('do not depend on the order in which instants are computed', () => {
    const forwards = days.map((day) => fingerprint(world, [day]))

    const backwards = days.toReversed().map((day) => fingerprint(world, [day]))

    expect(backwards.toReversed()).toEqual(forwards)
  })

  it('are a few thousand, without duplicates, ordered by id, in every season', () => {
    for (const day of Array.from({ length: 12 }, (_, month) => later(30 * month))) {
      const names = routesAt(world, day).map(nameOf)

      expect(names.length).toBeGreaterThan(2500)
      expect(names.length).toBeLessThan(4000)
      expect(new Set(names).size).toBe(names.length)
      expect(names).toEqual(names.toSorted((a, b) => (a < b ? -1 : 1)))
    }
  })

  it('mostly exist in both directions, but not always', () => {
    const names = namesAt(START)
    const returns = [...names].filter((name) => names.has(name.split('>').reverse().join('>')))

    expect(returns.length / names.size).toBeGreaterThan(0.8)
    expect(returns.length).toBeLessThan(names.size)
  })

  it('serve every airport and never lead from an airport to itself', () => {
    const served = new Set(world.pairs.map((pair) => pair.from.iata))

    expect(served.size).toBe(world.airports.length)
    expect(world.pairs.filter((pair) => pair.from === pair.to)).toEqual([])
  })

  it('open and close at a rate of half a percent to one percent a day', () => {
    const days = Array.from({ length: 60 }, (_, day) => day * 6)
    const changes = days.map((day) =>
      namesAt(later(day)).symmetricDifference(namesAt(later(day + 1))),
    )

    const perDay = changes.reduce((sum, change) => sum + change.size, 0) / days.length

    expect(perDay / namesAt(START).size).toBeGreaterThan(0.005)
    expect(perDay / namesAt(START).size).toBeLessThan(0.012)
  })

  it('have availability in about 85 percent of the cases, and only while they are live', () => {
    for (const day of [0, 100, 200, 300]) {
      const live = namesAt(later(day))
      const available = availableAt(later(day))

      expect(available.size / live.size).toBeGreaterThan(0.8)
      expect(available.size / live.size).toBeLessThan(0.9)
      expect(available.isSubsetOf(live)).toBe(true)
    }
  })

  it('keep their availability for days', () => {
    const available = availableAt(START)

    const kept = available.intersection(availableAt(later(1)))

    expect(kept.size / available.size).toBeGreaterThan(0.95)
    expect(kept.size).toBeLessThan(available.size)
  })

  it('change about every hour on both lists, so about every minute at speed 60', () => {
    const steps = Array.from({ length: 100 }, (_, step) => later((step * 75) / (24 * 60)))
    const still = (namesOf: (instant: Date) => Set<string>) =>
      steps.filter((instant) => {
        const next = later(75 / (24 * 60), instant)
        return namesOf(instant).symmetricDifference(namesOf(next)).size === 0
      })

    expect(still(namesAt)).toEqual([])
    expect(still(availableAt).length).toBeLessThan(3)
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

  it('is empty for a pair that is never flown', () => {
    const ids = { departureId: '101', destinationId: '101' }

    expect(routeHistory(world, ids, { from: START, to: later(400) })).toEqual([])
  })
})
