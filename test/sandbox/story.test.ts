import { expect, it } from 'vitest'
import { fareHistory } from '../../sandbox/world/fare-life.ts'
import { routesAt } from '../../sandbox/world/route-life.ts'
import { withStory } from '../../sandbox/world/story.ts'
import { createWorld, type World } from '../../sandbox/world/world.ts'
import { START } from './support.ts'

it('the story of a world is four changes of fares and two of routes within two hours, and nothing else of it differs', () => {
  const bare = createWorld({ seed: 1 })
  const world = withStory(bare, START)
  const minute = (n: number) => new Date(START.getTime() + n * 60_000)
  const names = (of: World, n: number) =>
    new Set(routesAt(of, minute(n)).map((route) => JSON.stringify(route)))

  const steps = [...(world.story?.flights.keys() ?? [])].flatMap((id) =>
    fareHistory(world, id, { from: START, to: minute(120) }),
  )

  const { before, after } = steps[2] as unknown as Record<
    'before' | 'after',
    { adultCents: number }
  >
  expect(steps).toMatchObject([
    { at: minute(20), before: { available: true }, after: { available: false } },
    { at: minute(45), before: { available: false }, after: { available: true } },
    { at: minute(76) },
    { at: minute(77), before: { shiftMs: 0 }, after: { shiftMs: 25 * 60_000 } },
  ])
  expect(after.adultCents / before.adultCents).toBeCloseTo(1.12, 2)
  const closed = names(world, 64).difference(names(world, 66))
  expect([closed.size, names(world, 76).difference(names(world, 74)).size]).toEqual([1, 1])
  expect(names(bare, 64).difference(names(world, 64)).size).toBe(1)
  expect(names(bare, 80).difference(names(world, 80))).toEqual(closed)
})
