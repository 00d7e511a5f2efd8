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
})
