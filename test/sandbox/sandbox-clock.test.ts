import { expect, it } from 'vitest'
import { createSandboxClock } from '../../sandbox/operations/sandbox-clock.ts'
import { manualClock, START } from './support.ts'

const worldStart = new Date('2030-01-01T00:00:00Z')

it('the sandbox clock runs from the start of the world at its speed', () => {
  const clock = manualClock(START)
  const sandboxClock = createSandboxClock({ clock, speed: 60, worldStart })

  clock.advance(90_000)

  const world = sandboxClock.worldTimeAt(sandboxClock.realNow())
  expect(world.toISOString()).toBe('2030-01-01T01:30:00.000Z')
})

it('the sandbox clock stands still at speed 0', () => {
  const clock = manualClock(START)
  const sandboxClock = createSandboxClock({ clock, speed: 0, worldStart })

  clock.advance(1e9)

  expect(sandboxClock.worldTimeAt(sandboxClock.realNow())).toEqual(worldStart)
})

it.each([-1, Number.NaN, Number.POSITIVE_INFINITY])(
  'the sandbox clock rejects the speed %d',
  (speed) => {
    expect(() => createSandboxClock({ clock: manualClock(START), speed, worldStart })).toThrow(
      RangeError,
    )
  },
)
