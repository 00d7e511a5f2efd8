import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { departsAt, lossReason } from '../../src/fares/answer.ts'
import { type FareState, initialState } from '../../src/fares/state.ts'
import { airportsByIata } from '../../src/platform/airports/airports.ts'
import { zoneOffsetMs } from '../../src/platform/base/local-time.ts'
import type { FlightSummary } from '../../src/upstream/observation.ts'

function flight(from: string, departsAt: string, parts: Partial<FlightSummary> = {}) {
  const arrivesAt = departsAt
  return { from, to: 'MAD', airline: 'VY', numbers: [1], departsAt, arrivesAt, stops: [], ...parts }
}

function fare(outbound: FlightSummary | null, back?: FlightSummary | null): FareState {
  const state = initialState(back !== undefined)
  return { ...state, lastFlights: { outbound, return: back ?? null } }
}

describe('the instant of departure', () => {
  it.each([
    ['MAD', '2026-07-20 08:00', '2026-07-20T06:00:00.000Z', 'in summer time'],
    ['MAD', '2026-12-20 08:00', '2026-12-20T07:00:00.000Z', 'in winter time'],
    ['NRT', '2026-07-20 21:00', '2026-07-20T12:00:00.000Z', 'west of the date line'],
    ['HNL', '2026-07-20 09:30', '2026-07-20T19:30:00.000Z', 'east of the date line'],
    ['APW', '2026-07-20 00:30', '2026-07-19T11:30:00.000Z', 'in UTC+13'],
    [
      'PPG',
      '2026-07-20 00:30',
      '2026-07-20T11:30:00.000Z',
      'in UTC−11, an hour by air from the one before',
    ],
    ['KTM', '2026-07-20 08:00', '2026-07-20T02:15:00.000Z', 'in a zone of quarter hours'],
    [
      'MAD',
      '2026-10-25 02:30',
      '2026-10-25T01:30:00.000Z',
      'the later one of an hour that comes twice',
    ],
    [
      'JFK',
      '2026-11-01 01:30',
      '2026-11-01T06:30:00.000Z',
      'the later one of an hour that comes twice',
    ],
    [
      'MAD',
      '2026-03-29 02:30',
      '2026-03-29T01:30:00.000Z',
      'the later reading of an hour that is skipped',
    ],
    ['JFK', '2026-11-01 12:00', '2026-11-01T17:00:00.000Z', 'on the day on which clocks change'],
    [
      'Neverland',
      '2026-07-20 08:00',
      '2026-07-20T20:00:00.000Z',
      'at UTC−12 where the zone is unknown',
    ],
    ['', '2026-07-20 08:00', '2026-07-20T20:00:00.000Z', 'at UTC−12 where the place is unknown'],
    ['Nis', '2026-07-20 08:00', '2026-07-20T20:00:00.000Z', 'at UTC−12 where a city is a code'],
    ['Pau', '2026-07-20 08:00', '2026-07-20T20:00:00.000Z', 'at UTC−12 where a city is a code'],
    // Fault: A departure in an unknown time zone, across the date line, in an hour that comes twice. The instant is right, or
    // the latest possible one.
  ])('a flight from %s at %s departs at %s: %s', (from, local, instant) => {
    expect(departsAt(fare(flight(from, local)))).toBe(instant)
  })

  it('the clocks of every airport show the local time at the instant of departure', () => {
    const airports = fc.constantFrom(...airportsByIata().values())
    const days = fc.integer({ min: 0, max: 2_000 })
    fc.assert(
      fc.property(airports, days, ({ iata, zone }, day) => {
        // No clock changes at noon.
        const local = Date.UTC(2025, 0, 1 + day, 12)
        const at = departsAt(
          fare(flight(iata, new Date(local).toISOString().slice(0, 16).replace('T', ' '))),
        )

        const instant = Date.parse(at ?? '')
        expect(instant + zoneOffsetMs(zone, instant)).toBe(local)
      }),
      { numRuns: 300 },
    )
  })

  it('a flight whose answer contradicts our zones departs by the latest instant of the two', () => {
    const departsBy = '2026-07-20T06:30:00.000Z'

    expect(departsAt(fare(flight('MAD', '2026-07-20 08:00', { departsBy })))).toBe(departsBy)
  })

  it('a pair departs with the first of its flights that is known', () => {
    const out = flight('MAD', '2026-07-20 08:00')
    const back = flight('PMI', '2026-07-27 08:00')

    expect(departsAt(fare(out, back))).toBe('2026-07-20T06:00:00.000Z')
    expect(departsAt(fare(null, back))).toBe('2026-07-27T06:00:00.000Z')
    expect(departsAt(fare(out, null))).toBe('2026-07-20T06:00:00.000Z')
    expect(departsAt(fare(null, null))).toBeNull()
  })
})

describe('the reason of a loss', () => {
  const known = fare(flight('MAD', '2026-07-20 08:00'))
  const unknown = fare(flight('Neverland', '2026-07-20 08:00'))
  const pending = fare(flight('MAD', '2026-07-20 08:00', { departsBy: '2026-07-20T07:00:00.000Z' }))

  it.each([
    ['2026-07-20T05:59:00.000Z', 'sales_closed', 'a minute before the departure'],
    ['2026-07-20T03:00:01.000Z', 'sales_closed', 'less than 3 h before it'],
    ['2026-07-20T03:00:00.000Z', 'sold_out', '3 h before it'],
    ['2026-07-01T03:00:00.000Z', 'sold_out', 'weeks before it'],
  ])('a loss at %s is %s: %s', (at, reason) => {
    expect(lossReason(known, at)).toBe(reason)
  })

  it.each([
    ['2026-07-19T08:00:01.000Z', 'unknown', 'within a day of the local time'],
    ['2026-07-20T19:59:00.000Z', 'unknown', 'while it may not have departed everywhere'],
    ['2026-07-19T08:00:00.000Z', 'sold_out', 'a day before the local time'],
  ])('a loss at %s in an unknown zone is %s: %s', (at, reason) => {
    expect(lossReason(unknown, at)).toBe(reason)
    expect(lossReason(pending, at)).toBe(reason)
  })

  it('the first departure of a pair decides', () => {
    const pair = fare(flight('MAD', '2026-07-20 08:00'), flight('Neverland', '2026-07-27 08:00'))

    expect(lossReason(pair, '2026-07-20T05:00:00.000Z')).toBe('sales_closed')
    expect(lossReason(pair, '2026-07-19T05:00:00.000Z')).toBe('sold_out')
  })
})
