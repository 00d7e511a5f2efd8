import { describe, expect, it } from 'vitest'
import { type Airport, readAirports } from '../../sandbox/world/airports.ts'
import { distanceKm, flightMinutes, localText } from '../../sandbox/world/geography.ts'
import { instantOfLocal, zoneOffsetMs } from '../../src/platform/base/local-time.ts'

const airports = readAirports()

function airport(iata: string): Airport {
  const found = airports.find((one) => one.iata === iata)
  if (!found) throw new Error(`no airport ${iata}`)
  return found
}

describe('the airports', () => {
  it('are a few hundred, each with a unique id of three digits and a unique code', () => {
    expect(airports.length).toBeGreaterThan(250)
    expect(new Set(airports.map((one) => one.id)).size).toBe(airports.length)
    expect(new Set(airports.map((one) => one.iata)).size).toBe(airports.length)
    expect(airports.filter((one) => one.id < 100 || one.id > 999)).toEqual([])
    expect(airports.filter((one) => !/^[A-Z]{3}$/.test(one.iata))).toEqual([])
  })

  it('keep their ids, which flight ids of released worlds contain', () => {
    expect(['MAD', 'PMI', 'JFK', 'CCS'].map((iata) => airport(iata).id)).toMatchInlineSnapshot(`
      [
        101,
        103,
        355,
        418,
      ]
    `)
  })
})

describe('distances and times', () => {
  it.each([
    ['MAD', 'JFK', 5768],
    ['PMI', 'BCN', 202],
    ['SYD', 'LAX', 12_051],
    ['AKL', 'SCL', 9667],
  ])('from %s to %s are about %d km', (from, to, km) => {
    const measured = distanceKm(airport(from), airport(to))

    expect(Math.abs(measured - km) / km).toBeLessThan(0.01)
    expect(distanceKm(airport(to), airport(from))).toBeCloseTo(measured, 6)
  })

  it('have flight times of whole five minutes', () => {
    expect(flightMinutes(airport('MAD'), airport('BCN'))).toBe(75)
  })

  it.each([
    ['America/New_York', '2026-01-15T12:00:00Z', -300],
    ['America/New_York', '2026-07-15T12:00:00Z', -240],
    ['Asia/Kolkata', '2026-07-15T12:00:00Z', 330],
    ['Europe/Madrid', '2026-03-29T00:59:59Z', 60],
    ['Europe/Madrid', '2026-03-29T01:00:00Z', 120],
    ['America/New_York', '2026-11-01T05:59:59Z', -240],
    ['America/New_York', '2026-11-01T06:00:00Z', -300],
    ['Australia/Lord_Howe', '2026-04-04T14:59:59Z', 660],
    ['Australia/Lord_Howe', '2026-04-04T15:00:00Z', 630],
    ['Africa/Abidjan', '2026-07-15T12:00:00Z', 0],
  ])('of %s at %s have an offset of %d minutes', (zone, instant, minutes) => {
    expect(zoneOffsetMs(zone, Date.parse(instant)) / 60_000).toBe(minutes)
  })

  it('have an instant for a local time on both sides of a daylight saving change', () => {
    const zone = 'America/New_York'
    for (const text of [
      '2026-03-08 01:30',
      '2026-03-08 03:30',
      '2026-11-01 06:00',
      '2026-10-31 23:55',
    ]) {
      const instant = instantOfLocal(zone, Date.parse(`${text.replace(' ', 'T')}:00Z`))

      expect(localText(zone, instant)).toBe(text)
    }
  })
})
