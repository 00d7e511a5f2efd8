import { describe, expect, it } from 'vitest'
import { type Part, stopInOrder } from '../../src/app/run-roles.ts'
import { systemClock } from '../../src/platform/base/clock.ts'
import { silentLog } from '../support/silent-log.ts'

const OPTIONS = { graceMs: 2_000, clock: systemClock, log: silentLog }

function book() {
  const ended: string[] = []
  const given: Record<string, number> = {}
  const part = (name: string, graceMs: number, stop = async () => undefined): Part => ({
    name,
    graceMs,
    stop: async (ms) => {
      given[name] = ms
      await stop()
      ended.push(name)
    },
  })
  return { ended, given, part }
}

describe('the parts of a process', () => {
  it('stop one after another, the last started first', async () => {
    const { ended, part } = book()

    const left = await stopInOrder(
      [part('stores', 500), part('queue', 500), part('api', 500)],
      OPTIONS,
    )

    expect(ended).toEqual(['api', 'queue', 'stores'])
    expect(left).toEqual([])
  })

  it('do not wait longer for a part that hangs, and its name is reported', async () => {
    const { ended, part } = book()
    const hangs = () => new Promise<never>(() => undefined)
    const parts = [part('stores', 500), part('queue', 100, hangs), part('api', 500)]

    const left = await stopInOrder(parts, OPTIONS)

    expect(ended).toEqual(['api', 'stores'])
    expect(left).toEqual(['queue'])
  })

  it('are not reported if they stop while the others do', async () => {
    const { ended, part } = book()
    const queue = Promise.withResolvers<undefined>()
    const opens = () => {
      queue.resolve(undefined)
      return queue.promise
    }
    const parts = [
      part('stores', 500),
      part('queue', 500, opens),
      part('ticks', 50, () => queue.promise),
    ]

    const left = await stopInOrder(parts, OPTIONS)

    expect(ended).toContain('ticks')
    expect(left).toEqual([])
  })

  it('stop even if one of them fails', async () => {
    const { ended, part } = book()
    const fails = () => Promise.reject(new Error('broken'))

    const left = await stopInOrder([part('stores', 500), part('api', 500, fails)], OPTIONS)

    expect(ended).toEqual(['stores'])
    expect(left).toEqual(['api'])
  })

  it('leave time for each other', async () => {
    const { given, part } = book()

    await stopInOrder([part('stores', 1_500), part('admin', 100), part('queue', 9_000)], OPTIONS)

    expect(given.queue).toBeLessThanOrEqual(1_650)
    expect(given.queue).toBeGreaterThan(1_500)
    expect(given.stores).toBe(1_500)
  })
})
