import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  cronFault,
  isZone,
  lastDueAt,
  longestGapMs,
  nextDueAt,
} from '../../../src/platform/base/cron.ts'

const instant = (text: string) => new Date(text)
const utc = (pattern: string) => ({ pattern, zone: 'UTC' })
const inMadrid = (pattern: string) => ({ pattern, zone: 'Europe/Madrid' })

describe('the next due time', () => {
  it.each([
    ['0 */2 * * *', '2026-01-01T00:30:00Z', '2026-01-01T02:00:00Z'],
    ['30 4 * * *', '2026-01-01T04:30:01Z', '2026-01-02T04:30:00Z'],
    ['15 */2 * * *', '2026-12-31T23:59:59Z', '2027-01-01T00:15:00Z'],
    ['0 0 29 2 *', '2026-01-01T00:00:00Z', '2028-02-29T00:00:00Z'],
    ['0 9 * * 1', '2026-01-01T00:00:00Z', '2026-01-05T09:00:00Z'],
    ['@hourly', '2026-01-01T00:30:00Z', '2026-01-01T01:00:00Z'],
    ['*/10 * * * * *', '2026-01-01T00:00:09.999Z', '2026-01-01T00:00:10Z'],
    ['* * * * * *', '2026-01-01T00:00:09.001Z', '2026-01-01T00:00:10Z'],
  ])('of "%s" after %s is %s', (pattern, after, expected) => {
    expect(nextDueAt(utc(pattern), instant(after))).toEqual(instant(expected))
  })

  it('follows the last one without a gap, whatever the pattern, the zone and the instant', () => {
    const patterns = fc.constantFrom(
      '* * * * * *',
      '0,59 * * * * *',
      '0,1 0,23 * * *',
      '0 0 L * *',
      '15 */2 * * *',
      '30 2 * * *',
      '0 9 * * 1-5',
      'H H * * *',
    )
    const zones = fc.constantFrom('UTC', 'Europe/Madrid', 'America/New_York', 'Australia/Lord_Howe')
    const instants = fc.date({
      min: instant('2026-01-01'),
      max: instant('2030-01-01'),
      noInvalidDate: true,
    })
    fc.assert(
      fc.property(patterns, zones, instants, (pattern, zone, at) => {
        const times = { pattern, zone }
        const [last, next] = [lastDueAt(times, at), nextDueAt(times, at)]

        expect(last.getTime()).toBeLessThanOrEqual(at.getTime())
        expect(next.getTime()).toBeGreaterThan(at.getTime())
        expect(nextDueAt(times, last)).toEqual(next)
        expect(lastDueAt(times, new Date(next.getTime() - 1))).toEqual(last)
        expect(lastDueAt(times, next)).toEqual(next)
      }),
      { numRuns: 30 },
    )
  })

  it('of a wrong pattern is an error that names it', () => {
    expect(() => nextDueAt(utc('61 * * * *'), instant('2026-01-01'))).toThrow(/61/)
  })
})

describe('summer time', () => {
  const dueTimes = (pattern: string, from: string, count: number): string[] => {
    const found = [nextDueAt(inMadrid(pattern), instant(from))]
    while (found.length < count) {
      found.push(nextDueAt(inMadrid(pattern), found.at(-1) ?? instant(from)))
    }
    return found.map((due) => due.toISOString().slice(5, 16))
  }

  it('an hour that it skips is due at once after it, and once', () => {
    expect(dueTimes('30 2 * * *', '2026-03-28T00:00:00Z', 3)).toEqual([
      '03-28T01:30',
      '03-29T01:30',
      '03-30T00:30',
    ])
  })

  it('an hour that it repeats is due once', () => {
    expect(dueTimes('30 2 * * *', '2026-10-24T00:00:00Z', 3)).toEqual([
      '10-24T00:30',
      '10-25T00:30',
      '10-26T01:30',
    ])
    expect(lastDueAt(inMadrid('30 2 * * *'), instant('2026-10-25T01:45:00Z'))).toEqual(
      instant('2026-10-25T00:30:00Z'),
    )
  })

  it.each(['2026-03-28T23:00:00Z', '2026-10-24T23:00:00Z'])(
    'does not matter to a pattern of every hour, from %s on',
    (midnight) => {
      const start = instant(midnight)
      const due = [nextDueAt(inMadrid('30 * * * *'), start)]
      while (due.length < 6) due.push(nextDueAt(inMadrid('30 * * * *'), due.at(-1) ?? start))

      expect(due.map((at) => (at.getTime() - start.getTime()) / 60_000)).toEqual([
        30, 90, 150, 210, 270, 330,
      ])
    },
  )
})

describe('the name of a time zone', () => {
  it('is known or not', () => {
    expect(['UTC', 'Europe/Madrid'].every(isZone)).toBe(true)
    expect(['', 'Madrid', 'Europe/Atlantis'].some(isZone)).toBe(false)
  })
})

describe('a cron pattern', () => {
  it.each([
    '0 */2 * * *',
    ' 0 0 * * * ',
    '*/5 * * * * *',
    '@daily',
    '0 0 * jan,feb mon',
    '0 0 L * *',
  ])('is right: "%s"', (pattern) => {
    expect(cronFault(pattern)).toBeUndefined()
  })

  it.each([
    ['', 'has 0 of five fields'],
    ['  ', 'has 0 of five fields'],
    ['5', 'has 1 of five fields'],
    ['0 */2 * *', 'has 4 of five fields'],
    ['* * * * * * *', 'has 7 of five fields'],
    ['61 * * * *', 'got value 61'],
    ['*/0 * * * *', '0'],
    ['every two hours or so', 'Invalid characters'],
    ['0 0 30 2 *', 'day of month'],
    ['@never', 'nev'],
  ])('is wrong: "%s" (%s)', (pattern, fault) => {
    expect(cronFault(pattern)).toContain(fault)
  })
})

describe('the longest gap of a pattern', () => {
  it.for([
    ['every two hours', '0 */2 * * *', 7_200],
    ['twice a day, unevenly', '0 8,20 * * *', 43_200],
    ['from Friday evening to Monday morning', '0 8,20 * * 1-5', 216_000],
    ['every five seconds', '*/5 * * * * *', 5],
  ] as const)('is found: %s', ([, pattern, seconds]) => {
    expect(longestGapMs({ pattern, zone: 'UTC' }, new Date('2026-01-01T00:30:00Z'))).toBe(
      seconds * 1_000,
    )
  })
})
