import { afterEach, expect, it } from 'vitest'
import { JobAbortedError } from '../../../src/platform/queue/queue-errors.ts'
import { aQueue, createSystems, FAST_WORK, untilCounts } from './queue-fixtures.ts'
import { describeStores } from './queue-stores.ts'

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

  it('does not wait for a job that ignores its signal; another worker takes it later', async () => {
    const [system, other] = [systems.open(), systems.open()]
    const queue = aQueue()
    const began = Promise.withResolvers<void>()
    const late = Promise.withResolvers<void>()
    await system.work(
      queue,
      async () => {
        began.resolve()
        await late.promise
      },
      FAST_WORK,
    )
    await system.enqueue(queue, { payload: {} })
    await began.promise

    await system.close({ graceMs: GRACE_MS })
    expect(await other.counts(queue)).toMatchObject({ waiting: 0, active: 1 })
    const taken = Promise.withResolvers<void>()
    await other.work(queue, async () => taken.resolve(), FAST_WORK)
    await taken.promise
    late.resolve()

    await untilCounts(other, queue, { completed: 1 })
    expect((await other.counts(queue)).failed).toBe(0)
  })

  it('closes a worker that is still starting', async () => {
    const [system, other] = [systems.open(), systems.open()]
    const queue = aQueue()
    const starting = system.work(queue, async () => undefined)

    await system.close({ graceMs: GRACE_MS })
    const worker = await starting
    await other.enqueue(queue, { payload: {} })
    const ran = Promise.withResolvers<void>()
    await other.work(queue, async () => ran.resolve())

    await ran.promise
    expect(worker.progress().activeJobs).toBe(0)
  })

  it('is quick when nothing runs and may be repeated', async () => {
    const system = systems.open()
    await system.work(aQueue(), async () => undefined)
    await system.enqueue(aQueue(), { payload: {} })

    // A close that used up its grace time would not end within this test.
    await system.close({ graceMs: 3_600_000 })
    await system.close({ graceMs: 3_600_000 })

    await expect(system.enqueue(aQueue(), { payload: {} })).rejects.toThrow(/closed/)
  })
})
