import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { GUARD_LIMITS, type SnapshotEffect, suspicionOf } from '../../src/route-sync/plan/guard.ts'

const CALM: SnapshotEffect = {
  baseline: false,
  repeated: false,
  listed: 2_000,
  live: 2_000,
  newlyAbsent: 0,
  missing: 0,
  added: 0,
  readded: 0,
  removed: 0,
  removedLastDay: 0,
  knownPlaces: 200,
  placesChanged: 0,
}

function codeOf(effect: Partial<SnapshotEffect>): string | undefined {
  return suspicionOf({ ...CALM, ...effect }, GUARD_LIMITS)?.code
}

describe('the guard', () => {
  it.each<[string, Partial<SnapshotEffect>, string | undefined]>([
    ['an ordinary day', { newlyAbsent: 30, added: 40, removed: 20 }, undefined],
    ['an empty list', { listed: 0, newlyAbsent: 2_000 }, 'empty'],
    ['an empty list that was accepted before', { listed: 0, live: 0, repeated: true }, undefined],
    ['an empty baseline', { listed: 0, baseline: true, live: 0 }, 'empty'],
    ['a baseline of any size', { baseline: true, live: 0, added: 1_000_000 }, undefined],
    ['15 % missing', { newlyAbsent: 300 }, undefined],
    ['a route more than 15 % missing', { newlyAbsent: 301 }, 'mass_absence'],
    ['nine of ten routes missing', { live: 10, newlyAbsent: 9 }, undefined],
    ['ten of ten routes missing', { live: 10, newlyAbsent: 10 }, 'mass_absence'],
    ['twice as many routes', { added: 2_000 }, undefined],
    ['more than twice as many routes', { added: 2_001 }, 'mass_addition'],
    [
      'routes removed in the last 24 hours, and as many new ones as were live',
      { added: 4_000, readded: 2_000 },
      undefined,
    ],
    [
      'routes removed in the last 24 hours, and one new route too many',
      { added: 4_001, readded: 2_000 },
      'mass_addition',
    ],
    ['a small list that grows tenfold', { live: 999, added: 9_990 }, undefined],
    ['just under half of the places changed', { placesChanged: 99 }, undefined],
    ['half of the places changed', { placesChanged: 100 }, 'mass_place_change'],
    ['nine of nine places changed', { knownPlaces: 9, placesChanged: 9 }, undefined],
    ['25 % removed within a day', { live: 1_600, removed: 100, removedLastDay: 400 }, undefined],
    [
      'more than 25 % removed within a day',
      { live: 1_600, removed: 101, removedLastDay: 400 },
      'mass_removal',
    ],
    ['much removed yesterday, nothing now', { live: 100, removedLastDay: 1_900 }, undefined],
  ])('the guard judges %s: %j -> %s', (_name, effect, code) => {
    expect(codeOf(effect)).toBe(code)
  })

  it('the reason names the count, the total and the limit', () => {
    const suspicion = suspicionOf({ ...CALM, newlyAbsent: 1_000 }, GUARD_LIMITS)

    expect(suspicion?.text).toBe('1,000 of 2,000 routes are missing at once (50.0 %, limit 15.0 %)')
  })

  it('a snapshot that lacks more than 15 % and at least ten of the routes never passes', () => {
    const effect = fc.record({
      live: fc.nat(5_000),
      share: fc.double({ min: 0, max: 1, noNaN: true }),
    })
    fc.assert(
      fc.property(effect, ({ live, share }) => {
        const newlyAbsent = Math.floor(live * share)
        const held = codeOf({ live, newlyAbsent }) !== undefined
        expect(held).toBe(newlyAbsent >= 10 && newlyAbsent > 0.15 * live)
      }),
    )
  })
})
