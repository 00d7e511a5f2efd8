import { afterEach, describe, expect, it } from 'vitest'
import type { Clock } from '../../../src/platform/base/clock.ts'
import { type RunningLoop, startLoop } from '../../../src/platform/base/loop.ts'
import { silentLog } from '../../support/silent-log.ts'
import { until } from '../../support/until.ts'

interface Pause {
  readonly ms: number
  end(): void
}

/** A clock whose pauses end when the test ends them, or when they are aborted. */
function heldClock() {
  const pauses: Pause[] = []
  const clock: Clock = {
    now: () => new Date(),
    sleep: (ms, signal) =>
      new Promise((resolve, reject) => {
        if (signal?.aborted) return reject(signal.reason)
        pauses.push({ ms, end: resolve })
        signal?.addEventListener('abort', () => reject(signal.reason), { once: true })
      }),
  }
  const pause = async (number: number): Promise<Pause> => {
    await until('pause', () => pauses.length >= number)
    const found = pauses[number - 1]
    if (found === undefined) throw new Error('no pause')
    return found
  }
  return { clock, pause, count: () => pauses.length }
}

describe('a loop that follows its work', () => {
  const running: RunningLoop[] = []
  afterEach(async () => {
    await Promise.all(running.splice(0).map((tick) => tick.stop()))
  })

  function start(clock: Clock, run: () => Promise<number | undefined>): RunningLoop {
    const tick = startLoop(
      { name: 'test', atMostMs: 10_000, run },
      { clock, log: silentLog, random: () => 1 },
    )
    running.push(tick)
    return tick
  }

  it('a loop waits until something is due, and a second at least', async () => {
    const { clock, pause } = heldClock()
    const due = [3_000, 200, 0]
    let runs = 0
    start(clock, async () => due[runs++])

    const gap = await pause(1)
    gap.end()
    const rest = await pause(2)
    rest.end()
    const next = await pause(3)

    expect([gap.ms, rest.ms, next.ms, runs]).toEqual([1_000, 2_000, 1_000, 2])
    next.end()
    await until('third run', () => runs === 3)
  })

  it.each([undefined, 3_600_000])(
    'a loop runs at its upper bound where %s ms remain',
    async (ms) => {
      const { clock, pause } = heldClock()
      start(clock, async () => ms)

      ;(await pause(1)).end()

      expect((await pause(2)).ms).toBe(9_000)
    },
  )

  it('a notification ends the pause, also one that comes during a run', async () => {
    const { clock, pause } = heldClock()
    let runs = 0
    const tick = start(clock, async () => {
      runs += 1
      // The run has read its tables before.
      if (runs === 2) tick.notify()
      return 10_000
    })

    ;(await pause(1)).end()
    await pause(2)
    tick.notify()
    ;(await pause(3)).end()

    await until('a run after the notification during the second', () => runs === 3)
  })
})
