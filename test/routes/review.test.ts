import { describe, expect, it } from 'vitest'
import { GUARD_LIMITS, type SnapshotEffect } from '../../src/routes/plan/guard.ts'
import type { ReviewState } from '../../src/routes/review/judge-snapshot.ts'
import { type AgreeingList, releaseOf } from '../../src/routes/review/judge-snapshot.ts'

const EFFECT: SnapshotEffect = {
  baseline: false,
  repeated: false,
  listed: 800,
  live: 1_000,
  newlyAbsent: 200,
  missing: 200,
  absentLastDay: 200,
  emptied: 0,
  renumbered: 0,
  history: { accepted: [], daysSinceLast: 0 },
  added: 0,
  readded: 0,
  removed: 0,
  removedLastDay: 0,
  knownPlaces: 100,
  newlyEdited: 0,
}
const LIST: AgreeingList = {
  runId: 9,
  fetchedAt: new Date('2026-01-02T12:00:00Z'),
  suspicion: { code: 'mass_absence', text: '200 are missing' },
  effect: EFFECT,
}
const STATE: ReviewState = {
  reviewId: 7,
  heldRuns: [7, 8],
  heldSince: new Date('2026-01-01T12:00:00Z'),
  rejected: false,
}

function release(
  state: Partial<ReviewState>,
  list: Partial<AgreeingList> = {},
): string | undefined {
  return releaseOf({ ...STATE, ...state }, { ...LIST, ...list }, GUARD_LIMITS)?.code
}

describe('releasing agreeing lists', () => {
  it('three lists over a whole day are released, with their runs and the original reason', () => {
    expect(releaseOf(STATE, LIST, GUARD_LIMITS)).toEqual({
      code: 'agreed',
      text: '3 lists over 24 hours agree (runs 7, 8, 9); held because 200 are missing',
    })
  })

  it.each<[string, Partial<ReviewState>, Partial<AgreeingList>]>([
    ['two', { heldRuns: [7] }, {}],
    ['a second short of a day', {}, { fetchedAt: new Date('2026-01-02T11:59:59Z') }],
    ['rejected once by an operator', { rejected: true }, {}],
    ['empty', {}, { suspicion: { code: 'empty', text: 'the list is empty' } }],
    ['more than half lost', {}, { effect: { ...EFFECT, missing: 501 } }],
  ])('agreeing lists stay held when they are %s', (_name, state, list) => {
    expect(release(state, list)).toBeUndefined()
  })

  it('lists that lack exactly half of the routes are released', () => {
    expect(release({}, { effect: { ...EFFECT, missing: 500 } })).toBe('agreed')
  })
})
