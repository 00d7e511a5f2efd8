import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { fareHistory, fareStateAt, sameState } from '../../sandbox/world/fare-life.ts'
import { dayOf, type Flight, findFlight, flightIdOf } from '../../sandbox/world/flight-schedule.ts'
import { isBookable } from '../../sandbox/world/route-life.ts'
import { createWorld } from '../../sandbox/world/world.ts'
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
  it('identifies its flight, and the flight determines it', () => {
    for (const pair of sample(world.pairs, 50)) {
      for (let number = 0; number < pair.flightsPerDay; number++) {
        const id = flightIdOf({ pair, day: 20_600, number })

        const flight = flightOf(id)

        expect(String(flight.id)).toBe(id)
        expect(Number.isSafeInteger(flight.id)).toBe(true)
        expect([flight.pair, Math.floor(flight.scheduledAt / DAY_MS)]).toEqual([
          pair,
          expect.toSatisfy((day: number) => Math.abs(day - 20_600) <= 1),
        ])
      }
    }
  })

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

  it('is not available after its departure and more than 120 days before', () => {
    for (const flight of flights) {
      const outside = [0, 1, DAY_MS, 400 * DAY_MS].map((ms) => flight.departsAt + ms)
      outside.push(flight.saleOpensAt - 1, flight.saleOpensAt - 90 * DAY_MS)

      expect(outside.filter((instant) => fareStateAt(flight, instant).available)).toEqual([])
    }
  })

  it('is not available while its route has no availability', () => {
    for (const flight of flights) {
      for (let days = 1; days < 120; days += 7) {
        const instant = flight.departsAt - days * DAY_MS
        if (!fareStateAt(flight, instant).available) continue

        expect(isBookable(flight.pair, { from: instant, to: instant })).toBe(true)
      }
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

  it('sells out and returns at realistic rates', () => {
    const far = { lost: 0, gained: 0, onDays: 0, offDays: 0 }
    const near = { lost: 0, gained: 0, onDays: 0, offDays: 0 }
    for (const flight of flights) {
      for (let days = 1; days < 100; days++) {
        const tally = days < 7 ? near : far
        const [from, to] = [
          flight.departsAt - (days + 1) * DAY_MS,
          flight.departsAt - days * DAY_MS,
        ]
        if (fareStateAt(flight, from).available) tally.onDays++
        else tally.offDays++
        const window = { from: new Date(from), to: new Date(to) }
        for (const { before, after } of fareHistory(world, String(flight.id), window)) {
          if (before.available && !after.available) tally.lost++
          if (!before.available && after.available) tally.gained++
        }
      }
    }

    expect(far.lost / far.onDays).toBeGreaterThan(0.03)
    expect(far.lost / far.onDays).toBeLessThan(0.1)
    expect(far.gained / far.offDays).toBeGreaterThan(0.1)
    expect(far.gained / far.offDays).toBeLessThan(0.5)
    expect(near.lost / near.onDays).toBeGreaterThan(1.5 * (far.lost / far.onDays))
    expect(near.gained / near.offDays).toBeLessThan(far.gained / far.offDays)
  })

  it('changes its price in steps of a few percent, more often towards departure', () => {
    const steps: { ratio: number; daysLeft: number }[] = []
    for (const flight of flights) {
      const window = { from: new Date(flight.saleOpensAt), to: new Date(flight.departsAt - 1) }
      for (const { at, before, after } of fareHistory(world, String(flight.id), window)) {
        if (!before.available || !after.available) continue
        if (before.adultCents === after.adultCents) continue
        const daysLeft = (flight.departsAt - at.getTime()) / DAY_MS
        steps.push({ ratio: Math.abs(after.adultCents / before.adultCents - 1), daysLeft })
      }
    }
    const ratios = steps.map((step) => step.ratio).sort((a, b) => a - b)
    const lastWeek = steps.filter((step) => step.daysLeft < 7).length / 7
    const before = steps.filter((step) => step.daysLeft >= 20).length / 100

    expect(ratios[Math.floor(ratios.length / 2)]).toBeGreaterThan(0.005)
    expect(ratios[Math.floor(ratios.length / 2)]).toBeLessThan(0.05)
    expect(ratios[Math.floor(ratios.length * 0.95)]).toBeLessThan(0.12)
    expect(lastWeek).toBeGreaterThan(1.5 * before)
  })

  it('changes its times at most once, by less than an hour', () => {
    const moved = flights.filter((flight) => flight.retiming)

    expect(moved.length / flights.length).toBeGreaterThan(0.5)
    expect(moved.length / flights.length).toBeLessThan(0.9)
    for (const { retiming, departsAt, scheduledAt } of moved) {
      expect(Math.abs(departsAt - scheduledAt)).toBeLessThan(60 * 60_000)
      expect(retiming?.at).toBeLessThan(departsAt - 0.9 * DAY_MS)
    }
  })
})
