import fc from 'fast-check'
import { expect, it } from 'vitest'
import { shareTurns, type Taker, withoutSavings } from '../../src/schedule/claim.ts'

/** Resellers with these shares, numbered from 1, none before another. */
function takers(...shares: readonly number[]): Taker[] {
  return shares.map((share, i) => ({ resellerId: i + 1, share, pass: 0 }))
}

it('resellers take turns by their shares', () => {
  const counts = shareTurns(takers(1, 100, 10, 1), 112)

  expect(Object.fromEntries(counts)).toEqual({ 1: 1, 2: 100, 3: 10, 4: 1 })
})

it('a reseller that is behind comes first, until it is level with the others', () => {
  const [first, second] = takers(1, 1) as [Taker, Taker]

  const counts = shareTurns([first, { ...second, pass: 3 }], 5)

  expect(Object.fromEntries(counts)).toEqual({ 1: 4, 2: 1 })
})

it('without a reseller, or without a turn, nothing is shared', () => {
  expect(shareTurns([], 5).size).toBe(0)
  expect(shareTurns(takers(1, 2), 0).size).toBe(0)
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

it('a reseller that had nothing to check comes back two turns before the others', () => {
  const [idle, large, ahead] = takers(1, 4, 1) as [Taker, Taker, Taker]

  const passes = withoutSavings([idle, large, { ...ahead, pass: 99 }], 50).map(({ pass }) => pass)

  expect(passes).toEqual([48, 49.5, 99])
})
