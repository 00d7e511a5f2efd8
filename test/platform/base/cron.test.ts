import fc from 'fast-check'
import { afterEach, describe, expect, it } from 'vitest'
import { cronFault, longestGapMs, nextDueAt } from '../../../src/platform/base/cron.ts'

const instant = (text: string) => new Date(text)
const early = () => 0
const late = () => 1 - Number.EPSILON

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
    expect(nextDueAt(pattern, instant(after), early)).toEqual(instant(expected))
  })

  it.each([
    ['a tenth of a short step', '* * * * *', 6_000],
    ['a tenth of a step of seconds', '*/10 * * * * *', 1_000],
    ['five minutes of a long step', '0 */2 * * *', 5 * 60_000],
  ])('is jittered by at most %s', (_what, pattern, mostMs) => {
    const after = instant('2026-01-01T00:00:00Z')
    const slot = nextDueAt(pattern, after, early).getTime()

    expect(nextDueAt(pattern, after, () => 0.5).getTime() - slot).toBe(mostMs / 2)
    expect(nextDueAt(pattern, after, late).getTime() - slot).toBe(mostMs - 1)
  })

  it('never passes the next match, whatever the pattern and the random number', () => {
    const patterns = fc.constantFrom(
      '* * * * * *',
      '0,59 * * * * *',
      '0,1 0,23 * * *',
      '0 0 L * *',
      '15 */2 * * *',
      '0 9 * * 1-5',
      'H H * * *',
    )
    const instants = fc.date({
      min: instant('2026-01-01'),
      max: instant('2030-01-01'),
      noInvalidDate: true,
    })
    const chance = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true })
    fc.assert(
      fc.property(patterns, instants, chance, (pattern, after, random) => {
        const slot = nextDueAt(pattern, after, early)
        const following = nextDueAt(pattern, slot, early)

        const due = nextDueAt(pattern, after, () => random)

        expect(slot.getTime()).toBeGreaterThan(after.getTime())
        expect(due.getTime()).toBeGreaterThanOrEqual(slot.getTime())
        expect(due.getTime()).toBeLessThan(following.getTime())
      }),
    )
  })

  it('is the same each time for an H in the pattern', () => {
    const first = nextDueAt('H H * * *', instant('2026-01-01T00:00:00Z'), early)

    const second = nextDueAt('H H * * *', first, early)

    expect(second.getTime() - first.getTime()).toBe(24 * 3_600_000)
  })

  it('cannot be computed for an invalid pattern', () => {
    expect(() => nextDueAt('61 * * * *', instant('2026-01-01'), early)).toThrow(/61/)
  })
})

describe('daylight saving', () => {
  const zone = process.env.TZ
  afterEach(() => {
    if (zone === undefined) delete process.env.TZ
    else process.env.TZ = zone
  })

  it.each([
    ['springs forward', '2026-03-29T00:00:00Z'],
    ['falls back', '2026-10-25T00:00:00Z'],
  ])('does not matter when a clock of the place %s', (_how, midnight) => {
    process.env.TZ = 'Europe/Madrid'
    const start = instant(midnight)
    expect(start.getTimezoneOffset()).not.toBe(new Date(start.getTime() + 6e7).getTimezoneOffset())

    const slots = [nextDueAt('30 * * * *', start, early)]
    while (slots.length < 6) slots.push(nextDueAt('30 * * * *', slots.at(-1) ?? start, early))

    expect(slots.map((slot) => (slot.getTime() - start.getTime()) / 60_000)).toEqual([
      30, 90, 150, 210, 270, 330,
    ])
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
    expect(longestGapMs(pattern, new Date('2026-01-01T00:30:00Z'))).toBe(seconds * 1_000)
  })
})
