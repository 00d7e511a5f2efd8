import { expect, it } from 'vitest'
import { fareHistory } from '../../sandbox/world/fare-life.ts'
import { findFlight } from '../../sandbox/world/flight-schedule.ts'
import { isBookable } from '../../sandbox/world/route-life.ts'
import { createWorld } from '../../sandbox/world/world.ts'
import { searchDemoFlights } from './changing-flights.ts'
import { DAY_MS, later, START } from './support.ts'

const world = createWorld({ seed: 1 })

it('the search for demo flights finds flights on routes with availability, none of which departs within 38 days', () => {
  const ids = searchDemoFlights(world, START, 60)
  const now = START.getTime()

  expect(new Set(ids).size).toBe(60)
  for (const id of ids) {
    const flight = findFlight(world, id)
    if (!flight) throw new Error(`${id} is no flight`)
    expect(flight.departsAt).toBeGreaterThan(now + 38 * DAY_MS)
    expect(flight.departsAt).toBeLessThan(now + 53 * DAY_MS)
    expect(isBookable(flight.pair, { from: now, to: now })).toBe(true)
  }
})

it('the search for demo flights puts the flights first whose availability changes soonest', () => {
  const ids = searchDemoFlights(world, START, 20)

  const firsts = ids.slice(0, 10).map((id) => {
    const history = fareHistory(world, id, { from: START, to: later(0.25) })
    return history.find(({ before, after }) => before.available !== after.available)?.at.getTime()
  })

  expect(firsts).not.toContain(undefined)
  expect(firsts).toEqual(firsts.toSorted((a, b) => (a ?? 0) - (b ?? 0)))
  expect(firsts[0]).toBeLessThan(later(1 / 24).getTime())
})

it('the search for demo flights finds the same flights for the same world and instant', () => {
  expect(searchDemoFlights(createWorld({ seed: 1 }), START, 20)).toEqual(
    searchDemoFlights(world, START, 20),
  )
})
