import { describe, expect, it } from 'vitest'
import { GUARD_LIMITS } from '../../src/routes/guard.ts'
import { type HeldList, releaseOf } from '../../src/routes/held.ts'

const HELD: HeldList = {
  firstRunId: 7,
  since: new Date('2026-01-01T12:00:00Z'),
  lists: 3,
  rejectedAt: null,
}
const LIST = {
  fetchedAt: new Date('2026-01-02T12:00:00Z'),
  suspicion: { code: 'mass_absence', text: '200 are missing' },
  effect: { missing: 200, live: 1_000 },
}

function release(held: Partial<HeldList>, list: Partial<typeof LIST> = {}): string | undefined {
  return releaseOf({ ...HELD, ...held }, { ...LIST, ...list }, GUARD_LIMITS)?.code
}

describe('releasing agreeing lists', () => {
  it('three lists over a whole day are released, with their first run and the original reason', () => {
    expect(releaseOf(HELD, LIST, GUARD_LIMITS)).toEqual({
      code: 'agreed',
      text: '3 lists over 24 hours agree, the first of run 7; held because 200 are missing',
    })
  })

  it.each<[string, Partial<HeldList>, Partial<typeof LIST>]>([
    ['two', { lists: 2 }, {}],
    ['a second short of a day', {}, { fetchedAt: new Date('2026-01-02T11:59:59Z') }],
    ['rejected once by an operator', { rejectedAt: new Date('2026-01-01T13:00:00Z') }, {}],
    ['empty', {}, { suspicion: { code: 'empty', text: 'the list is empty' } }],
    ['more than half lost', {}, { effect: { missing: 501, live: 1_000 } }],
  ])('agreeing lists stay held when they are %s', (_name, held, list) => {
    expect(release(held, list)).toBeUndefined()
  })

  it('lists that lack exactly half of the routes are released', () => {
    expect(release({}, { effect: { missing: 500, live: 1_000 } })).toBe('agreed')
  })
})
