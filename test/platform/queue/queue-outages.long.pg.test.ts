import { setTimeout as delay } from 'node:timers/promises'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { QueueUnavailableError } from '../../../src/platform/queue/queue-errors.ts'
import { until } from '../../support/until.ts'
import { aQueue, createSystems, FAST_WORK } from './queue-fixtures.ts'
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
})
