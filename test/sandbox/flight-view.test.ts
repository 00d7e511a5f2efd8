import { describe, expect, it } from 'vitest'
import { dayOf, findFlight, flightIdOf } from '../../sandbox/world/flight-schedule.ts'
import { viewFlight } from '../../sandbox/world/flight-view.ts'
import type { Pair } from '../../sandbox/world/route-network.ts'
import type { Flight, FlightDates } from '../../sandbox/world/wire.ts'
import { createWorld } from '../../sandbox/world/world.ts'
import { zoneOffsetMs } from '../../src/platform/base/local-time.ts'
import { type GivenCounts, pairBetween, START, sample, termsWith } from './support.ts'

const world = createWorld({ seed: 1 })
const STATE = { available: true, adultCents: 10_000, shiftMs: 0 } as const

interface ViewOptions extends GivenCounts {
  readonly shiftMs?: number
}

function view(pair: Pair, { shiftMs = 0, ...groups }: ViewOptions = {}): Flight {
  const flight = findFlight(world, flightIdOf({ pair, day: dayOf(START) + 30, number: 0 }))
  if (!flight) throw new Error('the pair has no flight')
  return viewFlight(flight, { ...STATE, shiftMs }, termsWith(groups))
}

const asUtc = (local: string) => Date.parse(`${local.replace(' ', 'T')}:00Z`)
const minutesShown = ({ departure, arrival }: FlightDates) =>
  (asUtc(arrival) - asUtc(departure)) / 60_000

describe('a flight', () => {
  it('shows the local times of both places and the duration between them', () => {
    const pair = pairBetween(world, 'MAD', 'TFN')
    const flight = view(pair)

    const behind =
      zoneOffsetMs('Atlantic/Canary', START.getTime()) -
      zoneOffsetMs('Europe/Madrid', START.getTime())

    expect(behind).toBe(-3_600_000)
    expect(minutesShown(flight.dates)).toBe(flight.duration.seconds / 60 - 60)
  })

  it('has legs that follow each other, and lasts from the first departure to the last arrival', () => {
    const stops = world.pairs.filter((pair) => pair.via).slice(0, 40)
    for (const pair of [...sample(world.pairs, 40), ...stops]) {
      const flight = view(pair)
      const [first, second] = flight.legs
      const last = flight.legs.at(-1)

      expect(flight.legs.length).toBe(pair.via ? 2 : 1)
      expect([first?.from, last?.to]).toEqual([flight.from, flight.to])
      expect(first?.dates.departure).toBe(flight.dates.departure)
      expect(last?.dates.arrival).toBe(flight.dates.arrival)
      if (!second) {
        expect(first?.duration).toEqual(flight.duration)
        continue
      }
      expect(second.from).toEqual(first?.to)
      const waitMinutes =
        (asUtc(second.dates.departure) - asUtc(first?.dates.arrival ?? '')) / 60_000
      const flown = ((first?.duration.seconds ?? 0) + second.duration.seconds) / 60
      expect(waitMinutes).toBeGreaterThanOrEqual(60)
      expect(flight.duration.seconds / 60).toBe(flown + waitMinutes)
    }
  })

  it('writes its duration in hours and minutes', () => {
    const { human, seconds } = view(pairBetween(world, 'MAD', 'TFN')).duration

    expect(human).toMatch(/^\d+h \d+m$/)
    const [hours, minutes] = human.split('h ')
    expect(Number(hours) * 3600 + Number.parseInt(minutes ?? '', 10) * 60).toBe(seconds)
  })

  it('shifts all its times, and nothing else, after a change of time', () => {
    const pair = pairBetween(world, 'MAD', 'TFN')
    const [planned, moved] = [view(pair), view(pair, { shiftMs: 25 * 60_000 })]

    expect(asUtc(moved.dates.departure) - asUtc(planned.dates.departure)).toBe(25 * 60_000)
    expect(asUtc(moved.dates.arrival) - asUtc(planned.dates.arrival)).toBe(25 * 60_000)
    expect({ ...moved, dates: 0, legs: 0 }).toEqual({ ...planned, dates: 0, legs: 0 })
  })

  it('has a price for each requested type, null for the others, and their total', () => {
    const flight = view(pairBetween(world, 'MAD', 'LHR'), {
      residents: { adults: 1 },
      nonResidents: { adults: 2, infants: 1 },
    })

    expect(flight.price).toEqual({
      currency: 'EUR',
      total: '310.00',
      residents: { adult: 100, child: null, infant: null },
      nonResidents: { adult: 100, child: null, infant: 10 },
    })
  })

  it('is cheaper for residents of islands only to and from the rest of their country', () => {
    const party = { residents: { adults: 1, children: 1 }, nonResidents: { adults: 1 } }
    const home = view(pairBetween(world, 'PMI', 'MAD'), party).price
    const abroad = view(pairBetween(world, 'PMI', 'LHR'), party).price

    expect(home.residents).toEqual({ adult: 25, child: 18.75, infant: null })
    expect(home.nonResidents.adult).toBe(100)
    expect(home.total).toBe('143.75')
    expect(abroad.residents.adult).toBe(100)
  })

  it('costs more per passenger for a large party', () => {
    const price = view(pairBetween(world, 'MAD', 'LHR'), { nonResidents: { adults: 6 } }).price

    expect(price.nonResidents.adult).toBe(106)
    expect(price.total).toBe('636.00')
  })
})
