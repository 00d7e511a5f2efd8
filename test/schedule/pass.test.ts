import fc from 'fast-check'
import { expect, it } from 'vitest'
import { shareTurns, type Taker } from '../../src/schedule/queues.ts'

/** Resellers with these shares, numbered from 1, none before another. */
function takers(...shares: readonly number[]): Taker[] {
  return shares.map((share, i) => ({ resellerId: i + 1, share, pass: 0 }))
}

it('a reseller that is behind comes first, until it is level with the others', () => {
  const [first, second] = takers(1, 1) as [Taker, Taker]

  const counts = shareTurns([first, { ...second, pass: 3 }], 5)

  expect(Object.fromEntries(counts)).toEqual({ 1: 4, 2: 1 })
})

it('no reseller is ever ahead of its part by more than a turn', () => {
  const shares = fc.array(fc.integer({ min: 1, max: 100 }), { minLength: 1, maxLength: 12 })
  fc.assert(
    fc.property(shares, fc.nat(500), (given, turns) => {
      const counts = shareTurns(takers(...given), turns)
      const all = given.reduce((a, b) => a + b, 0)
      for (const [i, share] of given.entries()) {
        expect((counts.get(i + 1) ?? 0) - (turns * share) / all).toBeLessThanOrEqual(1)
      }
      expect([...counts.values()].reduce((a, b) => a + b, 0)).toBe(turns)
    }),
  )
})
