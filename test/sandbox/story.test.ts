import { describe, expect, it } from 'vitest'
import { fareHistory, fareStateAt } from '../../sandbox/world/fare-life.ts'
import { findFlight } from '../../sandbox/world/flight-schedule.ts'
import { routesAt } from '../../sandbox/world/route-life.ts'
import {
  hasDeparted,
  searchDeparting,
  searchFlights,
  searchQuietFlights,
  withStory,
} from '../../sandbox/world/story.ts'
import { createWorld } from '../../sandbox/world/world.ts'
import { DAY_MS, later, START } from './support.ts'

const bare = createWorld({ seed: 1 })
const world = withStory(bare, START)
const actors = [...(world.story?.flights.keys() ?? [])]
const atMinute = (n: number) => new Date(START.getTime() + n * 60_000)

describe('the story of a world', () => {
  it('is a sell-out, a reopening, a higher price and other times, in this order within two hours', () => {
    const changes = actors.map((id) => {
      const [first, ...more] = fareHistory(world, id, { from: START, to: atMinute(120) })
      expect(more).toEqual([])
      return first
    })

    expect(changes.map((change) => change?.at)).toEqual([20, 45, 76, 77].map(atMinute))
    const [soldOut, reopened, dearer, retimed] = changes
    expect(soldOut).toMatchObject({ before: { available: true }, after: { available: false } })
    expect(reopened).toMatchObject({ before: { available: false }, after: { available: true } })
    const { before, after } = dearer as unknown as Record<
      'before' | 'after',
      { adultCents: number }
    >
    expect(after.adultCents / before.adultCents).toBeCloseTo(1.12, 2)
    expect(retimed).toMatchObject({ before: { shiftMs: 0 }, after: { shiftMs: 25 * 60_000 } })
  })

  it('closes one route and opens another, and all other routes are those of the same world without it', () => {
    const names = (of: typeof world, minute: number) =>
      new Set(routesAt(of, atMinute(minute)).map((route) => JSON.stringify(route)))

    expect(names(bare, 64).difference(names(world, 64)).size).toBe(1)
    const closed = names(world, 64).difference(names(world, 66))
    const opened = names(world, 76).difference(names(world, 74))
    expect([closed.size, opened.size]).toEqual([1, 1])
    expect(names(bare, 80).difference(names(world, 80))).toEqual(closed)
  })
})

describe('the search for quiet flights', () => {
  it('finds flights that can be booked and stay as they are for a day, and none of those it is to leave out', () => {
    const first = searchQuietFlights(bare, START, 60)
    const more = searchQuietFlights(bare, START, 60, new Set(first))

    expect(new Set([...first, ...more]).size).toBe(120)
    for (const id of [...first, ...more]) {
      const flight = findFlight(bare, id)
      if (!flight) throw new Error(`${id} is no flight`)
      expect(fareStateAt(flight, START.getTime()).available).toBe(true)
      expect(fareHistory(bare, id, { from: START, to: later(1) })).toEqual([])
      expect(flight.departsAt).toBeGreaterThan(START.getTime() + 38 * DAY_MS)
      expect(hasDeparted(bare, id, START)).toBe(false)
      expect(hasDeparted(bare, id, later(54))).toBe(true)
    }
  })
})

describe('the other flights of a demonstration', () => {
  it('change two to four times an hour of the world from its beginning on, and less often before', () => {
    const without = new Set(actors)
    const watched = [...actors, ...searchFlights(world, START, { n: 36, without, quietMs: 0 })]
    const changes = (from: Date, to: Date) =>
      watched.flatMap((id) => fareHistory(world, id, { from, to })).length

    for (const day of [0, 1, 2, 5]) {
      const hourly = changes(later(day), later(day + 1)) / 24
      expect(hourly).toBeGreaterThan(2)
      expect(hourly).toBeLessThan(4)
    }
    expect(changes(later(-30), START) / (30 * 24)).toBeLessThan(1)
    for (const id of watched.slice(actors.length)) {
      const window = { from: later(-30), to: new Date(START.getTime() - 1) }
      expect(fareHistory(world, id, window)).toEqual(fareHistory(bare, id, window))
    }
  })
})

describe('the search for departing flights', () => {
  it('finds flights that can be booked and depart within the days, spread over them', () => {
    const days = searchDeparting(bare, START, { n: 24, days: 30 }).map((id) => {
      const flight = findFlight(bare, id)
      if (!flight) throw new Error(`${id} is no flight`)
      expect(fareStateAt(flight, START.getTime()).available).toBe(true)
      return Math.floor((flight.departsAt - START.getTime()) / DAY_MS)
    })

    expect(days).toHaveLength(24)
    expect(Math.min(...days)).toBeGreaterThan(0)
    expect(Math.max(...days)).toBeLessThan(30)
    expect(new Set(days).size).toBeGreaterThan(15)
  })
})
