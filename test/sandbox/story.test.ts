import { describe, expect, it } from 'vitest'
import { fareHistory } from '../../sandbox/world/fare-life.ts'
import { routesAt } from '../../sandbox/world/route-life.ts'
import { withStory } from '../../sandbox/world/story.ts'
import { createWorld } from '../../sandbox/world/world.ts'
import { START } from './support.ts'

const bare = createWorld({ seed: 1 })
const world = withStory(bare, START)
const actors = [...(world.story?.flights.keys() ?? [])]
const atMinute = (n: number) => new Date(START.getTime() + n * 60_000)

describe('the story of a world', () => {
  it('is a sell-out, a reopening, a higher price and other times, in this order within two hours', () => {
    const changes = actors.map((id) => {
      const [first, ...more] = fareHistory(world, id, { from: START, to: atMinute(120) })
      expect(more).toEqual([])
      return first
    })

    expect(changes.map((change) => change?.at)).toEqual([20, 45, 76, 77].map(atMinute))
    const [soldOut, reopened, dearer, retimed] = changes
    expect(soldOut).toMatchObject({ before: { available: true }, after: { available: false } })
    expect(reopened).toMatchObject({ before: { available: false }, after: { available: true } })
    const { before, after } = dearer as unknown as Record<
      'before' | 'after',
      { adultCents: number }
    >
    expect(after.adultCents / before.adultCents).toBeCloseTo(1.12, 2)
    expect(retimed).toMatchObject({ before: { shiftMs: 0 }, after: { shiftMs: 25 * 60_000 } })
  })

  it('closes one route and opens another, and all other routes are those of the same world without it', () => {
    const names = (of: typeof world, minute: number) =>
      new Set(routesAt(of, atMinute(minute)).map((route) => JSON.stringify(route)))

    expect(names(bare, 64).difference(names(world, 64)).size).toBe(1)
    const closed = names(world, 64).difference(names(world, 66))
    const opened = names(world, 76).difference(names(world, 74))
    expect([closed.size, opened.size]).toEqual([1, 1])
    expect(names(bare, 80).difference(names(world, 80))).toEqual(closed)
  })
})
