import { expect, it } from 'vitest'
import { verifyFares } from '../../sandbox/verify-fares.ts'
import { findFlight, flightIdOf } from '../../sandbox/world/flight-schedule.ts'
import { createWorld, type World } from '../../sandbox/world/world.ts'
import type { FareChange } from '../../src/fares/decide/compare-readings.ts'
import { decide } from '../../src/fares/decide/decide.ts'
import { type FareState, initialState } from '../../src/fares/decide/fare-state.ts'
import { departsAt } from '../../src/fares/decide/reading.ts'
import { readFlight } from '../../src/upstream/flights/read-flight.ts'
import type { LegObservation } from '../../src/upstream/observation.ts'
import { CALM, RULES } from './answers.ts'
import { observation } from './fare-fixtures.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const DAY = Math.floor(Date.parse('2026-10-24T00:00:00Z') / (24 * HOUR_MS))
const FLIGHTS = 60
const ONE_ADULT = {
  residents: { adults: 0, children: 0, infants: 0 },
  nonResidents: { adults: 1, children: 0, infants: 0 },
}

/** What the parser reads of the sandbox's answer for a flight at an instant. */
function answerAt(world: World, flightId: string, atMs: number): LegObservation {
  const entry = verifyFares(world, new Date(atMs), { flightId, ...ONE_ADULT })[flightId]
  if (entry?.available !== true) return { kind: 'unavailable' }
  const context = { id: flightId, passengers: ONE_ADULT, show: (text: string) => text }
  const value: unknown = JSON.parse(JSON.stringify(entry.flight))
  return { kind: 'available', flight: readFlight(value, context).flight }
}

interface Life {
  readonly losses: readonly (FareChange & { readonly msToDeparture: number })[]
  /** When the fare ended, relative to the true departure; undefined if it did not end. */
  readonly endedAfterMs: number | undefined
  readonly wasBookable: boolean
}

/** Checks one flight from six hours before its true departure until ten minutes after it. */
function follow(world: World, flightId: string, departureMs: number): Life {
  let state: FareState = initialState(false)
  const losses: (FareChange & { msToDeparture: number })[] = []
  for (let atMs = departureMs - 6 * HOUR_MS; atMs < departureMs + 10 * MINUTE_MS; ) {
    const end = departsAt(state)
    if (end !== null && Date.parse(end) <= atMs) {
      const endedAfterMs = Date.parse(end) - departureMs
      return { losses, endedAfterMs, wasBookable: state.belief.pair === 'bookable' }
    }
    const answer = observation(answerAt(world, flightId, atMs))
    const decision = decide(state, { askedAt: new Date(atMs), observation: answer }, RULES, CALM)
    for (const change of decision.changes) {
      if (change.kind !== 'became_unavailable') continue
      losses.push({ ...change, msToDeparture: departureMs - atMs })
    }
    state = decision.state
    const { next } = decision
    atMs = typeof next === 'object' ? next.confirmAt.getTime() : atMs + MINUTE_MS
  }
  return { losses, endedAfterMs: undefined, wasBookable: false }
}

it('in a simulated world no loss is a departure, and losses shortly before it are closed sales', () => {
  const world = createWorld({ seed: 1 })
  const step = Math.floor(world.pairs.length / FLIGHTS)
  const lives = world.pairs
    .filter((_, i) => i % step === 0)
    .map((pair) => {
      // The clocks of Europe are set back in the night after this day.
      const id = flightIdOf({ pair, day: DAY, number: 0 })
      return follow(world, id, findFlight(world, id)?.departsAt ?? 0)
    })

  const losses = lives.flatMap((life) => life.losses)
  expect(losses.filter(({ msToDeparture }) => msToDeparture <= 0)).toEqual([])
  for (const { reason, msToDeparture } of losses) {
    expect(reason).toBe(msToDeparture < 3 * HOUR_MS ? 'sales_closed' : 'sold_out')
  }
  // Each that was seen for sale ends at its true departure, most of them while they could be booked.
  const ended = lives.filter(({ endedAfterMs }) => endedAfterMs !== undefined)
  expect(new Set(ended.map(({ endedAfterMs }) => endedAfterMs))).toEqual(new Set([0]))
  expect(ended.filter(({ wasBookable }) => wasBookable).length).toBeGreaterThan(FLIGHTS / 3)
  expect(losses.length).toBeGreaterThan(0)
})
