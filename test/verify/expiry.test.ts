import { describe, expect, it } from 'vitest'
import { type ExpiryFacts, isExpired } from '../../src/verify/expiry.ts'
import { isStale } from '../../src/verify/staleness.ts'

const WATCHED: ExpiryFacts = {
  departsAt: null,
  departsOn: null,
  createdAt: new Date('2026-04-01T00:00:00Z'),
  everAvailableAt: '2026-04-02T00:00:00.000Z',
  now: new Date('2026-05-01T00:00:00Z'),
}

function expired(facts: Partial<Omit<ExpiryFacts, 'now'>>, now: string): boolean {
  return isExpired({ ...WATCHED, ...facts, now: new Date(now) })
}

describe('a fare ends', () => {
  it('when its departure has passed in the last place on earth', () => {
    const departsAt = '2026-05-01 10:00'

    expect(expired({ departsAt }, '2026-05-01T22:00:00.000Z')).toBe(false)
    expect(expired({ departsAt }, '2026-05-01T22:00:00.001Z')).toBe(true)
  })

  it('when the whole day of its imported departure has', () => {
    const departsOn = '2026-05-01'

    expect(expired({ departsOn }, '2026-05-02T12:00:00.000Z')).toBe(false)
    expect(expired({ departsOn }, '2026-05-02T12:00:00.001Z')).toBe(true)
  })

  it('by whichever comes first', () => {
    const both = { departsAt: '2026-06-01 10:00', departsOn: '2026-05-01' }

    expect(expired(both, '2026-05-03T00:00:00Z')).toBe(true)
  })

  it('after 30 days without ever being bookable', () => {
    expect(expired({ everAvailableAt: null }, '2026-05-01T00:00:00.000Z')).toBe(false)
    expect(expired({ everAvailableAt: null }, '2026-05-01T00:00:00.001Z')).toBe(true)
    expect(expired({}, '2027-05-01T00:00:00.001Z')).toBe(false)
  })

  it('never by a text that is no time', () => {
    expect(expired({ departsAt: 'soon', departsOn: 'tomorrow' }, '2040-01-01T00:00:00Z')).toBe(
      false,
    )
  })
})

describe('a belief is stale', () => {
  const lastGoodCheckAt = '2026-05-01T00:00:00.000Z'
  const stale = (intervalMs: number, now: string) =>
    isStale(lastGoodCheckAt, intervalMs, new Date(now))

  it('an hour after its last good check, however often it is checked', () => {
    expect(stale(60_000, '2026-05-01T01:00:00.000Z')).toBe(false)
    expect(stale(60_000, '2026-05-01T01:00:00.001Z')).toBe(true)
  })

  it('after six of its intervals, where they are long', () => {
    expect(stale(3_600_000, '2026-05-01T06:00:00.000Z')).toBe(false)
    expect(stale(3_600_000, '2026-05-01T06:00:00.001Z')).toBe(true)
  })

  it('where it had no good check', () => {
    expect(isStale(null, 60_000, new Date())).toBe(true)
  })
})
