import { afterEach, expect, it } from 'vitest'
import { until } from '../support/until.ts'
import { aQueue, createSystems, FAST_WORK, untilCounts } from './queue-fixtures.ts'
import { describeStores } from './queue-stores.ts'

/** BullMQ ends the id of a tick with its due time. */
const dueMsOf = (jobId: string): number => Number(jobId.split(':').at(-1))

describeStores('ticks', (store) => {
  const systems = createSystems(store)
  afterEach(systems.closeAll)

  it('run once in each interval, with the name of the tick', async () => {
    const system = systems.open()
    const queue = aQueue()
    const ticks: { tick: string; dueMs: number }[] = []
    await system.work<{ tick: string }>(queue, async ({ tick }, { jobId }) => {
      ticks.push({ tick, dueMs: dueMsOf(jobId) })
    })

    await system.upsertTick({ queue, name: 'sync', everyMs: 300 })
    await until('ticks', () => ticks.length >= 5)

    expect(new Set(ticks.map(({ tick }) => tick))).toEqual(new Set(['sync']))
    const [first = Number.NaN, ...later] = ticks.map(({ dueMs }) => dueMs)
    expect(later.filter((dueMs) => dueMs <= first || (dueMs - first) % 300 !== 0)).toEqual([])
  })

  it('end when they are removed', async () => {
    const system = systems.open()
    const queue = aQueue()
    await system.work(queue, async () => undefined)
    await system.upsertTick({ queue, name: 'former', everyMs: 3_600_000 })
    await untilCounts(system, queue, { completed: 1, delayed: 1 })

    await system.removeTick({ queue, name: 'former' })
    await system.removeTick({ queue, name: 'unknown' })

    await untilCounts(system, queue, { completed: 1, delayed: 0 })
  })

  it('run at once for the first time, and keep their due time however often processes upsert them', async () => {
    const [one, two] = [systems.open(), systems.open()]
    const queue = aQueue()
    const tick = { queue, name: 't', everyMs: 3_600_000 }
    const ran: number[] = []
    for (const system of [one, two]) {
      await system.work(queue, async (_payload, { jobId }) => void ran.push(dueMsOf(jobId)))
    }
    await one.upsertTick(tick)
    await untilCounts(one, queue, { completed: 1, delayed: 1 })

    for (let i = 0; i < 10; i += 1) for (const system of [one, two]) await system.upsertTick(tick)

    const delayed = await one.jobs(queue, 'delayed', 10)
    expect(ran).toHaveLength(1)
    expect(delayed.map(({ id }) => dueMsOf(id) - (ran[0] ?? 0))).toEqual([tick.everyMs])
  })

  it('seldom run early when two processes upsert them at the same moment', async () => {
    const [one, two] = [systems.open(), systems.open()]
    const queue = aQueue()
    const tick = { queue, name: 't', everyMs: 3_600_000 }
    let ticks = 0
    await one.work(queue, async () => {
      ticks += 1
    })

    const pairs = 25
    for (let i = 0; i < pairs; i += 1) {
      // On Postgres BullMQ refuses some of the upserts that meet. The reconciler repeats them.
      await Promise.allSettled([one, two].map((system) => system.upsertTick(tick)))
    }
    await untilCounts(one, queue, { waiting: 0, active: 0 })

    expect(ticks).toBeGreaterThan(0)
    expect(ticks).toBeLessThan(pairs)
  })

  it('adopt a changed interval', async () => {
    const system = systems.open()
    const queue = aQueue()
    let ticks = 0
    await system.work(queue, async () => {
      ticks += 1
    })
    await system.upsertTick({ queue, name: 't', everyMs: 3_600_000 })
    await until('ticks', () => ticks === 1)

    await system.upsertTick({ queue, name: 't', everyMs: 200 })

    await until('ticks', () => ticks >= 5)
  })

  it('continue after a failure, and a failed tick is not retried', async () => {
    const system = systems.open()
    const queue = aQueue()
    const attempts: number[] = []
    await system.work(
      queue,
      async (_payload, { attempt }) => {
        attempts.push(attempt)
        throw new Error('broken')
      },
      FAST_WORK,
    )

    await system.upsertTick({ queue, name: 't', everyMs: 200 })
    await until('ticks', () => attempts.length >= 3)

    expect(new Set(attempts)).toEqual(new Set([1]))
    expect((await system.jobs(queue, 'dead', 1))[0]?.name).toBe('t')
  })

  it('do not share a queue with jobs', async () => {
    const system = systems.open()
    const [jobs, ticks] = [aQueue(), aQueue()]
    await system.enqueue(jobs, { payload: {} })
    await system.upsertTick({ queue: ticks, name: 't', everyMs: 60_000 })

    await expect(system.upsertTick({ queue: jobs, name: 't', everyMs: 1 })).rejects.toThrow(/holds/)
    await expect(system.enqueue(ticks, { payload: {} })).rejects.toThrow(/holds ticks/)
  })

  it('are created again by an upsert after the store lost them', async ({ skip }) => {
    skip(store().connection.kind === 'postgres', 'Postgres forgets nothing')
    const system = systems.open()
    const queue = aQueue()
    let ticks = 0
    await system.work(queue, async () => {
      ticks += 1
    })
    const tick = { queue, name: 't', everyMs: 200 }
    await system.upsertTick(tick)
    await until('ticks', () => ticks >= 2)

    await store().wipe()
    await system.upsertTick(tick)
    const before = ticks

    await until('ticks', () => ticks >= before + 3)
  })

  it('are created again by a reconnect listener after an outage', async () => {
    const system = systems.open()
    const queue = aQueue()
    let ticks = 0
    await system.start()
    await system.work(
      queue,
      async () => {
        ticks += 1
      },
      FAST_WORK,
    )
    const tick = { queue, name: 't', everyMs: 200 }
    await system.upsertTick(tick)
    system.onReconnect(() => {
      system.upsertTick(tick).catch(() => undefined)
    })
    await until('ticks', () => ticks >= 2)

    await store().restart()
    const before = ticks

    await until('ticks', () => ticks >= before + 3)
  })
})
