import { setTimeout as delay } from 'node:timers/promises'
import { inspect } from 'node:util'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { QueueUnavailableError } from '../../../src/platform/queue/queue-errors.ts'
import { until } from '../../support/until.ts'
import { aQueue, createSystems, FAST_WORK, untilCounts } from './queue-fixtures.ts'
import { describeStores } from './queue-stores.ts'

/** The error of a promise; undefined if it resolves. A call without a timeout would not end within its test. */
function failureOf(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => undefined,
    (err: unknown) => err,
  )
}

describeStores('outages of the queue store', (store) => {
  const systems = createSystems(store)
  beforeEach(() => store().door.open())
  afterEach(async () => {
    await store().door.open()
    await systems.closeAll()
  })

  it('at start are reported in time, with the address and without the password', async () => {
    const system = systems.open()
    await store().door.shut()

    const err = await failureOf(system.start())

    expect(err).toBeInstanceOf(QueueUnavailableError)
    const text = inspect(err, { depth: 9 })
    expect(text).toContain(`127.0.0.1:${store().door.port}`)
    expect(text).toMatch(/ECONNREFUSED/)
    expect(text).toMatch(/check that/)
    expect(text).not.toContain('canary')
  })

  it('at the first call do not make a later call fail', async () => {
    const system = systems.open()
    const queue = aQueue()
    const ran = Promise.withResolvers<void>()
    await store().door.shut()
    const calls = [
      system.start(),
      system.enqueue(queue, { payload: {} }),
      system.work(queue, async () => ran.resolve()),
      system.counts(queue),
    ]
    const failures = await Promise.all(calls.map(failureOf))
    for (const err of failures) expect(err).toBeInstanceOf(QueueUnavailableError)

    await store().door.open()
    await system.start()
    await system.work(queue, async () => ran.resolve())
    await system.enqueue(queue, { payload: {} })

    await ran.promise
  })

  it('during operation fail an enqueue in time, and only while they last', async () => {
    const system = systems.open()
    const queue = aQueue()
    await system.start()
    await system.enqueue(queue, { payload: {}, id: 'before' })
    await store().door.shut()

    const failures = await Promise.all(
      Array.from({ length: 5 }, () => failureOf(system.enqueue(queue, { payload: {}, id: 'x' }))),
    )

    for (const err of failures) expect(err).toBeInstanceOf(QueueUnavailableError)
    await store().door.open()
    await until('a later job ran', async () => {
      const err = await failureOf(system.enqueue(queue, { payload: {}, id: 'x' }))
      return err === undefined
    })
    expect((await system.counts(queue)).waiting).toBe(2)
  })

  it('with a stalled connection fail an enqueue in time, and the next one succeeds', async () => {
    const system = systems.open()
    const queue = aQueue()
    await system.enqueue(queue, { payload: {} })
    store().door.halfOpen()

    const err = await failureOf(system.enqueue(queue, { payload: {} }))

    expect(err).toBeInstanceOf(QueueUnavailableError)
    await system.enqueue(queue, { payload: {} })
  })

  it('that close all connections do not stop a worker', async () => {
    const system = systems.open()
    const queue = aQueue()
    const ran: number[] = []
    await system.work<{ n: number }>(queue, async ({ n }) => void ran.push(n), FAST_WORK)
    await system.enqueue(queue, { payload: { n: 1 } })
    await until('the jobs ran', () => ran.length === 1)

    await store().restart()

    await until('a later job ran', async () => {
      await system.enqueue(queue, { payload: { n: 2 } }).catch(() => undefined)
      return ran.includes(2)
    })
  })

  it('of some seconds neither stop a worker nor flood the log', async () => {
    const system = systems.open()
    const queue = aQueue()
    const ran: number[] = []
    await system.start()
    const worker = await system.work<{ n: number }>(
      queue,
      async ({ n }) => void ran.push(n),
      FAST_WORK,
    )
    await system.enqueue(queue, { payload: { n: 1 } })
    await until('the jobs ran', () => ran.length === 1)
    const linesBefore = systems.book.lines().length

    await store().door.shut()
    await delay(3_000)
    const silentSince = worker.progress().lastActivityAt
    expect(systems.book.lines().length - linesBefore).toBeLessThan(10)
    await store().door.open()

    await until('a later job ran', async () => {
      await system.enqueue(queue, { payload: { n: 2 }, id: 'two' }).catch(() => undefined)
      return ran.includes(2)
    })
    await until('progress', () => worker.progress().lastActivityAt > silentSince)
  })

  it('during a job neither lose nor repeat its effects', async () => {
    const system = systems.open()
    const queue = aQueue()
    let runs = 0
    const running = Promise.withResolvers<void>()
    const finish = Promise.withResolvers<void>()
    await system.work(
      queue,
      async () => {
        runs += 1
        running.resolve()
        await finish.promise
      },
      { ...FAST_WORK, lockMs: 20_000 },
    )
    await system.enqueue(queue, { payload: {} })
    await running.promise

    await store().door.shut()
    finish.resolve()
    const err = await failureOf(system.counts(queue))
    await store().door.open()
    await untilCounts(system, queue, { completed: 1 })

    expect(err).toBeInstanceOf(QueueUnavailableError)
    expect(runs).toBe(1)
  })

  it('that close connections at the end of a job do not make it fail', async () => {
    const system = systems.open()
    const queue = aQueue()
    let runs = 0
    // Not before the enqueue has its answer: its connection is cut too.
    const enqueued = Promise.withResolvers<void>()
    await system.work(
      queue,
      async () => {
        runs += 1
        await enqueued.promise
        store().door.cut()
      },
      { ...FAST_WORK, lockMs: 20_000 },
    )

    await system.enqueue(queue, { payload: {}, attempts: 1 })
    enqueued.resolve()
    await untilCounts(system, queue, { completed: 1 })

    expect(runs).toBe(1)
  })

  it('that stall the connections of a worker do not stop it', async () => {
    const system = systems.open()
    const queue = aQueue()
    let runs = 0
    await system.start()
    await system.work(
      queue,
      async () => {
        runs += 1
      },
      FAST_WORK,
    )

    store().door.halfOpen()
    await until('a later job ran', async () => {
      await system.enqueue(queue, { payload: {}, id: 'one' }).catch(() => undefined)
      return runs > 0
    })
  })

  it('do not prevent a system from closing within its grace time', async () => {
    const system = systems.open()
    await system.start()
    await system.work(aQueue(), async () => undefined, FAST_WORK)
    await store().door.shut()

    await expect(system.close({ graceMs: 1_500 })).resolves.toBeUndefined()
  })
})
