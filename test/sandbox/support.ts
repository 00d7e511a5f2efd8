import { type Sandbox, type SandboxOptions, startSandbox } from '../../sandbox/sandbox-server.ts'
import { fareStateAt } from '../../sandbox/world/fare-life.ts'
import { dayOf, findFlight, flightIdOf } from '../../sandbox/world/flight-schedule.ts'
import { type PassengerCounts, readTerms, type Terms } from '../../sandbox/world/terms.ts'
import type { Clock } from '../../src/platform/base/clock.ts'
import { silentLog } from '../support/silent-log.ts'

export const TOKEN = 'a-token-of-the-tests'
export const START = new Date('2026-03-01T00:00:00Z')
export const DAY_MS = 86_400_000

export interface ManualClock extends Clock {
  advance(ms: number): void
}

export function manualClock(start: Date): ManualClock {
  let now = start.getTime()
  return {
    now: () => new Date(now),
    sleep: () => Promise.reject(new Error('nothing in the sandbox sleeps')),
    advance: (ms) => {
      now += ms
    },
  }
}

export function startTestSandbox(options: Partial<SandboxOptions> = {}): Promise<Sandbox> {
  return startSandbox({
    port: 0,
    seed: 1,
    speed: 1,
    token: TOKEN,
    worldStart: START,
    clock: manualClock(START),
    log: silentLog,
    ...options,
  })
}

export function later(days: number, start = START): Date {
  return new Date(start.getTime() + days * DAY_MS)
}

/** Flights of some pairs, twenty days after an instant, that are available at it, or are not. */
export function flightsThatAre({ world }: Sandbox, available: boolean, start = START): string[] {
  const day = dayOf(start) + 20
  const pairs = world.pairs.slice(0, 600)
  return pairs
    .map((pair) => flightIdOf({ pair, day, number: 0 }))
    .filter((id) => {
      const flight = findFlight(world, id)
      return flight !== undefined && fareStateAt(flight, start.getTime()).available === available
    })
}

/** Evenly picked elements, so that a test covers all of a long list. */
export function sample<T>(list: readonly T[], count: number): T[] {
  const step = Math.max(1, Math.floor(list.length / count))
  return list.filter((_, index) => index % step === 0)
}

export interface GivenCounts {
  readonly residents?: Partial<PassengerCounts>
  readonly nonResidents?: Partial<PassengerCounts>
}

/** The terms of a request that gives these counts alone; of one adult if it gives none of non-residents. */
export function termsWith(given: GivenCounts): Terms {
  const { residents = {}, nonResidents = { adults: 1 } } = given
  const groups = Object.entries({ residents, nonResidents })
  const counts = groups.flatMap(([group, of]) =>
    Object.entries({ adults: 0, ...of }).map(([type, n]) => [`${group}[${type}]`, String(n)]),
  )
  const read = readTerms(Object.fromEntries(counts))
  if ('brokenRule' in read) throw new Error(read.brokenRule)
  return read.terms
}
