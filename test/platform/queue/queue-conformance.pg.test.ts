import { afterEach, expect, it } from 'vitest'
import { AppError } from '../../../src/platform/base/errors.ts'
import type { JobState } from '../../../src/platform/queue/queue-system.ts'
import { until } from '../../support/until.ts'
import { aQueue, createSystems, FAST_WORK, SECRET, untilCounts, YEARLY } from './queue-fixtures.ts'
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

  it('drops a job while its id runs or waits for its next attempt', async () => {
    const system = systems.open()
    const queue = aQueue()
    const ran: number[] = []
    const again = Promise.withResolvers<void>()
    await system.work<{ n: number }>(
      queue,
      async ({ n }, { attempt }) => {
        ran.push(n)
        await system.enqueue(queue, { payload: { n: n + 1 }, id: 'one' })
        if (attempt === 1) throw new Error('once more')
        again.resolve()
      },
      FAST_WORK,
    )

    await system.enqueue(queue, { payload: { n: 1 }, id: 'one' })
    await again.promise
    await untilCounts(system, queue, { completed: 1 })

    expect(ran).toEqual([1, 1])
    expect(await system.counts(queue)).toMatchObject({ waiting: 0, delayed: 0, active: 0 })
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

  it('retries a failed job on demand and deletes one on demand', async () => {
    const system = systems.open()
    const queue = aQueue()
    const mended = new AbortController()
    const ran: string[] = []
    await system.work<{ name: string }>(queue, async ({ name }) => {
      ran.push(name)
      if (!mended.signal.aborted) throw new Error('broken')
    })
    for (const name of ['a', 'b']) await system.enqueue(queue, { payload: { name }, attempts: 1 })
    await untilCounts(system, queue, { failed: 2 })
    const [newest, oldest] = await system.jobs(queue, 'dead', 10)
    mended.abort()

    const retried = await system.retryDead(queue, oldest?.id ?? '')
    const dropped = await system.dropDead(queue, newest?.id ?? '')
    await untilCounts(system, queue, { completed: 1 })

    expect([retried, dropped]).toEqual([true, true])
    expect(ran).toEqual(['a', 'b', 'a'])
    expect(await system.jobs(queue, 'dead', 10)).toEqual([])
    expect(await system.retryDead(queue, newest?.id ?? '')).toBe(false)
    expect(await system.dropDead(queue, oldest?.id ?? '')).toBe(false)
    expect(await system.dropDead(queue, 'meta')).toBe(false)
  })

  it('lists the jobs of each state: waiting ones oldest first, ended ones newest first', async () => {
    const system = systems.open()
    const queue = aQueue()
    for (const n of [1, 2, 3]) await system.enqueue(queue, { payload: { n } })
    await system.reconcile(queue, [{ ...YEARLY, payload: { n: 4 } }])
    const numbers = async (state: JobState, limit = 10) =>
      (await system.jobs(queue, state, limit)).map(({ payload }) => payload.n)

    expect(await numbers('waiting')).toEqual([1, 2, 3])
    expect(await numbers('waiting', 2)).toEqual([1, 2])
    expect(await numbers('delayed')).toEqual([4])
    const finish = Promise.withResolvers<void>()
    const worker = await system.work<{ n: number }>(queue, async ({ n }) => {
      if (n === 3) await finish.promise
    })
    await until('the third runs', () => worker.progress().busySince !== null && numbers('active'))
    await until('two are done', async () => (await numbers('done')).length === 2)
    expect(await numbers('done', 1)).toEqual([2])
    const [running] = await system.jobs(queue, 'active', 10)
    expect(running).toMatchObject({ payload: { n: 3 }, endedAt: null, failure: null, attempts: 0 })
    expect(worker.progress().busySince?.getTime()).toBeGreaterThanOrEqual(
      running?.enqueuedAt.getTime() ?? Number.NaN,
    )
    finish.resolve()
    await until('the last is done', async () => (await numbers('done')).length === 3)
    expect(worker.progress().busySince).toBeNull()
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
    ['a NUL', 'bad \0 byte', 'Error: bad  byte'],
    ['a lone surrogate', 'bad \ud800 half', 'Error: bad \ufffd half'],
    ["BullMQ's own signal", 'bullmq:rateLimitExceeded', 'Error: bullmq:rateLimitExceeded'],
    ['a very long text', 'x'.repeat(5_000), `Error: ${'x'.repeat(492)}…`],
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
    const jobs = 1_200
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

  it('shows the progress of an idle worker whose next job is far off', async () => {
    const system = systems.open()
    const queue = aQueue()
    await system.reconcile(queue, [YEARLY])
    const worker = await system.work(queue, async () => undefined)

    for (let polls = 0; polls < 3; polls += 1) {
      const before = worker.progress().lastActivityAt.getTime()
      await until('progress', () => worker.progress().lastActivityAt.getTime() > before)
    }

    expect(worker.progress().activeJobs).toBe(0)
  })
})
