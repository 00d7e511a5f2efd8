import { afterEach, expect, it } from 'vitest'
import { systemClock } from '../../../src/platform/base/clock.ts'
import { AppError } from '../../../src/platform/base/errors.ts'
import { type JobContext, SnoozeError } from '../../../src/platform/queue/job-processor.ts'
import { JobAbortedError } from '../../../src/platform/queue/queue-errors.ts'
import { until } from '../../support/until.ts'
import { aQueue, createSystems, FAST_WORK, SECRET, untilCounts } from './queue-fixtures.ts'
import { describeStores } from './queue-stores.ts'

class RefusedError extends AppError {
  override readonly name = 'RefusedError'
  override readonly code = 'test.refused'
}

class LaterError extends AppError {
  override readonly name = 'LaterError'
  override readonly code = 'test.later'
  override readonly retryable = true
}

describeStores('a queue', (store) => {
  const systems = createSystems(store)
  afterEach(systems.closeAll)

  it('drops a job while its id waits, and accepts it after that job has ended', async () => {
    const system = systems.open()
    const queue = aQueue()
    await system.enqueue(queue, { payload: { n: 1 }, id: 'sync:routes@1' })
    await system.enqueue(queue, { payload: { n: 2 }, id: 'sync:routes@1' })
    await system.enqueue(queue, { payload: { n: 3 }, id: 'sync:routes@2' })
    const ran: unknown[] = []

    await system.work(queue, async (payload) => void ran.push(payload))
    await untilCounts(system, queue, { completed: 2 })
    await system.enqueue(queue, { payload: { n: 4 }, id: 'sync:routes@1' })
    await untilCounts(system, queue, { completed: 3 })

    expect(ran).toEqual([{ n: 1 }, { n: 3 }, { n: 4 }])
  })

  it('retries a job with a growing pause, then lists it as failed', async () => {
    const system = systems.open()
    const queue = aQueue()
    const attempts: number[] = []
    await system.work(
      queue,
      async (_payload, { attempt }) => {
        attempts.push(attempt)
        throw new RangeError(`no luck with ${SECRET}`)
      },
      FAST_WORK,
    )

    await system.enqueue(queue, { payload: {}, attempts: 3 })
    await untilCounts(system, queue, { failed: 1 })

    expect(attempts).toEqual([1, 2, 3])
    const [failed] = await system.jobs(queue, 'dead', 10)
    expect(failed).toMatchObject({
      name: queue,
      attempts: 3,
      failure: 'RangeError: no luck with [redacted]',
    })
    expect(failed?.endedAt?.getTime()).toBeGreaterThanOrEqual(failed?.startedAt?.getTime() ?? 0)
    expect(systems.book.has(SECRET)).toBe(false)
  })

  it('does not retry a failure that is final', async () => {
    const system = systems.open()
    const queue = aQueue()
    await system.work(queue, async () => {
      throw new RefusedError('never')
    })

    await system.enqueue(queue, { payload: {}, attempts: 5 })
    await untilCounts(system, queue, { failed: 1 })

    const [failed] = await system.jobs(queue, 'dead', 1)
    expect(failed).toMatchObject({ attempts: 1, failure: 'test.refused: never' })
  })

  it('logs an expected failure without a stack and a bug with one', async () => {
    const system = systems.open()
    const queue = aQueue()
    const failures = [new LaterError('the list is unavailable'), new RangeError('a bug')]
    await system.work(
      queue,
      async () => {
        const failure = failures.shift()
        if (failure !== undefined) throw failure
      },
      FAST_WORK,
    )

    await system.enqueue(queue, { payload: {} })
    await untilCounts(system, queue, { completed: 1 })

    const lines = systems.book
      .lines()
      .map((line) => JSON.parse(line) as Record<string, unknown>)
      .filter((line) => line.queue === queue && line.msg === 'job attempt failed')
    expect(lines).toMatchObject([
      { level: 'info', attempt: 1, code: 'test.later', reason: 'the list is unavailable' },
      { level: 'warn', attempt: 2, err: { name: 'RangeError', message: 'a bug' } },
    ])
    expect(lines[0]).not.toHaveProperty('err')
  })

  it.each([
    [
      'bytes that no store takes, and too many of them',
      `bad \0 byte \ud800 half ${'x'.repeat(5_000)}`,
      `Error: bad  byte \ufffd half ${'x'.repeat(475)}…`,
    ],
    ["BullMQ's own signal", 'bullmq:rateLimitExceeded', 'Error: bullmq:rateLimitExceeded'],
  ])('records a failure whose message holds %s', async (_what, message, reason) => {
    const system = systems.open()
    const queue = aQueue()
    await system.work(queue, async () => {
      throw Object.assign(new Error(message, { cause: new Error(`${message}${SECRET}`) }), {
        request: SECRET,
      })
    })

    await system.enqueue(queue, { payload: {}, attempts: 1 })
    await untilCounts(system, queue, { failed: 1 })

    expect((await system.jobs(queue, 'dead', 1))[0]?.failure).toBe(reason)
    const stored = await store().dump()
    expect(stored).toContain(JSON.stringify(reason).slice(1, -1))
    expect(stored).not.toContain(SECRET)
  })

  it('drains a backlog and never exceeds its concurrency', async () => {
    const system = systems.open()
    const queue = aQueue()
    const jobs = 1_100
    for (let from = 0; from < jobs; from += 20) {
      const batch = Array.from({ length: 20 }, (_, i) =>
        system.enqueue(queue, { payload: { n: from + i } }),
      )
      await Promise.all(batch)
    }
    const seen = new Set<number>()
    let running = 0
    let most = 0

    const worker = await system.work<{ n: number }>(
      queue,
      async ({ n }) => {
        running += 1
        most = Math.max(most, running)
        await Promise.resolve()
        seen.add(n)
        running -= 1
      },
      { concurrency: 8 },
    )
    await until('all ran', () => seen.size === jobs)

    expect(most).toBeLessThanOrEqual(8)
    await until('nothing runs', () => worker.progress().activeJobs === 0)
    await untilCounts(system, queue, { active: 0 })
    expect((await system.counts(queue)).completed).toBeLessThan(1_050)
  })
})

const GRACE_MS = 1_000

describeStores('closing a queue system', (store) => {
  const systems = createSystems(store)
  afterEach(systems.closeAll)

  it('lets a running job finish, starts no other and leaves none active', async () => {
    const [system, other] = [systems.open(), systems.open()]
    const queue = aQueue()
    const began = Promise.withResolvers<void>()
    const finish = Promise.withResolvers<void>()
    let runs = 0
    await system.work(queue, async () => {
      runs += 1
      began.resolve()
      await finish.promise
    })
    await system.enqueue(queue, { payload: {} })
    await system.enqueue(queue, { payload: {} })
    await began.promise

    const closing = system.close({ graceMs: 5_000 })
    finish.resolve()
    await closing

    expect(runs).toBe(1)
    expect(await other.counts(queue)).toMatchObject({ completed: 1, waiting: 1, active: 0 })
  })

  it('aborts a job that does not finish and releases it to another worker at once', async () => {
    const [system, other] = [systems.open(), systems.open()]
    const queue = aQueue()
    const began = Promise.withResolvers<void>()
    let reason: unknown
    await system.work(queue, async (_payload, { signal }) => {
      const aborted = Promise.withResolvers<never>()
      signal.addEventListener('abort', () => aborted.reject(signal.reason))
      began.resolve()
      await aborted.promise.catch((err: unknown) => {
        reason = err
        throw err
      })
    })
    await system.enqueue(queue, { payload: {}, attempts: 1 })
    await began.promise

    await system.close({ graceMs: GRACE_MS })
    expect(await other.counts(queue)).toMatchObject({ waiting: 1, active: 0 })
    const taken = Promise.withResolvers<number>()
    // The lock of the first worker would last for 30 s.
    await other.work(queue, async (_payload, { attempt }) => taken.resolve(attempt))

    expect(await taken.promise).toBe(1)
    expect(reason).toBeInstanceOf(JobAbortedError)
  })
})

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
