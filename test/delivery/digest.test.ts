import { describe, expect, it } from 'vitest'
import { nextDigestAt, zoneFault } from '../../src/delivery/endpoints/endpoint-settings.ts'
import type { Digest } from '../../src/delivery/endpoints/endpoint-shapes.ts'

const next = (digest: Digest | null, now: string) =>
  nextDigestAt(digest, new Date(now)).toISOString()
const madrid = (hour: number): Digest => ({ type: 'daily', hour, zone: 'Europe/Madrid' })

describe('the next time of a digest', () => {
  it.each<[string, Digest | null, string, string]>([
    ['no digest: at once', null, '2026-11-22T10:07:31.000Z', '2026-11-22T10:07:31.000Z'],
    [
      'a quarter of an hour',
      { type: 'interval', every: '15m' },
      '2026-11-22T10:07:31.000Z',
      '2026-11-22T10:15:00.000Z',
    ],
    [
      'exactly at a quarter',
      { type: 'interval', every: '15m' },
      '2026-11-22T10:15:00.000Z',
      '2026-11-22T10:30:00.000Z',
    ],
    [
      'an hour',
      { type: 'interval', every: '1h' },
      '2026-12-31T23:59:59.999Z',
      '2027-01-01T00:00:00.000Z',
    ],
    ['later today', madrid(7), '2026-11-22T05:59:59.999Z', '2026-11-22T06:00:00.000Z'],
    ['exactly at the hour', madrid(7), '2026-11-22T06:00:00.000Z', '2026-11-23T06:00:00.000Z'],
    [
      'the local day is ahead of UTC',
      { type: 'daily', hour: 0, zone: 'Pacific/Kiritimati' },
      '2026-11-22T09:00:00.000Z',
      '2026-11-22T10:00:00.000Z',
    ],
    [
      'the local day is behind UTC',
      { type: 'daily', hour: 23, zone: 'Pacific/Pago_Pago' },
      '2026-11-22T03:00:00.000Z',
      '2026-11-22T10:00:00.000Z',
    ],
    [
      'the day before summer time begins',
      madrid(7),
      '2027-03-27T07:00:00.000Z',
      '2027-03-28T05:00:00.000Z',
    ],
    [
      'the hour that the clocks skip',
      madrid(2),
      '2027-03-27T12:00:00.000Z',
      '2027-03-28T01:00:00.000Z',
    ],
    [
      'after the hour that the clocks skip',
      madrid(2),
      '2027-03-28T01:00:00.000Z',
      '2027-03-29T00:00:00.000Z',
    ],
    [
      'the hour that is there twice',
      madrid(2),
      '2026-10-24T12:00:00.000Z',
      '2026-10-25T01:00:00.000Z',
    ],
    [
      'after the hour that is there twice',
      madrid(2),
      '2026-10-25T01:00:00.000Z',
      '2026-10-26T01:00:00.000Z',
    ],
  ])('%s', (_, digest, now, due) => {
    expect(next(digest, now)).toBe(due)
  })

  // Fault: Clocks that skip or repeat the hour of a daily digest.
  it('a daily digest has one time a day, also where clocks change', () => {
    for (const zone of [
      'Europe/Madrid',
      'America/New_York',
      'Australia/Lord_Howe',
      'Africa/Casablanca',
      'Asia/Kolkata',
    ]) {
      let at = new Date('2026-01-01T12:00:00Z')
      for (let days = 0; days < 366; days += 1) {
        const due = nextDigestAt({ type: 'daily', hour: 2, zone }, at)
        const hours = (due.getTime() - at.getTime()) / 3_600_000
        expect(days === 0 ? 24 : hours, `${zone} ${due.toISOString()}`).toBeGreaterThanOrEqual(23)
        expect(hours).toBeLessThanOrEqual(25)
        at = due
      }
    }
  })
})

describe('the zone of a digest', () => {
  it.each([
    ['UTC', undefined],
    ['America/Argentina/Buenos_Aires', undefined],
    ['Europe/Nowhere', 'zone must be'],
    ['+02:00', 'zone must be'],
  ])('the fault of %s begins with "%s"', (zone, fault) => {
    expect(zoneFault(zone)?.slice(0, 12)).toBe(fault)
  })
})
