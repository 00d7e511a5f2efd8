import { afterEach, expect, it } from 'vitest'
import { systemClock } from '../../../src/platform/base/clock.ts'
import { AppError } from '../../../src/platform/base/errors.ts'
import type { JobContext } from '../../../src/platform/queue/job-processor.ts'
import { SnoozeError } from '../../../src/platform/queue/job-processor.ts'
import { aQueue, createSystems, FAST_WORK, SECRET, untilCounts } from './queue-fixtures.ts'
import { describeStores } from './queue-stores.ts'

class BusyError extends AppError {
  override readonly name = 'BusyError'
  override readonly code = 'test.busy'
  override readonly retryable = true
}

const snoozed = () => new SnoozeError(0, new BusyError(`come back, ${SECRET}`))

describeStores('a snoozed job', (store) => {
  const systems = createSystems(store)
  afterEach(systems.closeAll)

  /** A handler that snoozes its first starts, and records all of them. */
  function snoozes(times: number) {
    const begun: Pick<JobContext, 'attempt' | 'canSnooze'>[] = []
    const handler = async (_payload: unknown, { attempt, canSnooze }: JobContext) => {
      begun.push({ attempt, canSnooze })
      if (begun.length <= times) throw snoozed()
    }
    return { begun, handler }
  }

  it('runs again with its id and all its attempts, and the log has a line', async () => {
    const system = systems.open()
    const queue = aQueue()
    const { begun, handler } = snoozes(2)
    await system.work(queue, handler, FAST_WORK)

    await system.enqueue(queue, { payload: { n: 1 }, id: 'slot', attempts: 1 })
    await untilCounts(system, queue, { delayed: 1 })
    await system.enqueue(queue, { payload: { n: 2 }, id: 'slot', attempts: 1 })
    const [waiting] = await system.jobs(queue, 'delayed', 10)
    await untilCounts(system, queue, { completed: 1 })

    expect(waiting).toMatchObject({ payload: { n: 1 }, attempts: 0, failure: null })
    expect(begun).toEqual(Array(3).fill({ attempt: 1, canSnooze: true }))
    expect(await system.counts(queue)).toMatchObject({ waiting: 0, delayed: 0, failed: 0 })
    expect(systems.book.has('"job snoozed"')).toBe(true)
    expect(systems.book.has(SECRET)).toBe(false)
  })

  it('uses up no attempt', async () => {
    const system = systems.open()
    const queue = aQueue()
    const attempts: number[] = []
    await system.work(
      queue,
      async (_payload, { attempt }) => {
        attempts.push(attempt)
        if (attempts.length === 2) throw snoozed()
        throw new RangeError('no luck')
      },
      FAST_WORK,
    )

    await system.enqueue(queue, { payload: {}, attempts: 2 })
    await untilCounts(system, queue, { failed: 1 })

    expect(attempts).toEqual([1, 2, 2])
    expect((await system.jobs(queue, 'dead', 1))[0]).toMatchObject({ attempts: 2 })
  })

  it('that is snoozed for too long fails for its reason and ends dead', async () => {
    const later = { ...systemClock, now: () => new Date(Date.now() + 6 * 3_600_000) }
    const system = systems.open({ clock: later })
    const queue = aQueue()
    const { begun, handler } = snoozes(Number.POSITIVE_INFINITY)
    await system.work(queue, handler, FAST_WORK)

    await system.enqueue(queue, { payload: {}, attempts: 2 })
    await untilCounts(system, queue, { failed: 1 })

    expect(begun.map(({ canSnooze }) => canSnooze)).toEqual([false, false])
    expect((await system.jobs(queue, 'dead', 1))[0]).toMatchObject({
      attempts: 2,
      failure: 'test.busy: come back, [redacted]',
    })
  })
})
