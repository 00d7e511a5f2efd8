import { afterEach, expect, it } from 'vitest'
import { until } from '../support/until.ts'
import { aQueue, createSystems, FAST_WORK } from './queue-fixtures.ts'
import { describeStores } from './queue-stores.ts'

describeStores('ticks', (store) => {
  const systems = createSystems(store)
  afterEach(systems.closeAll)

  it('run repeatedly, the first time at once, with the name of the tick', async () => {
    const system = systems.open()
    const queue = aQueue()
    const ticks: { tick: string; at: number }[] = []
    await system.work<{ tick: string }>(queue, async ({ tick }) => {
      ticks.push({ tick, at: Date.now() })
    })
    const startedAt = Date.now()

    await system.upsertTick({ queue, name: 'sync', everyMs: 300 })
    await until('ticks', () => ticks.length >= 5)

    expect(new Set(ticks.map(({ tick }) => tick))).toEqual(new Set(['sync']))
    const tookMs = (ticks[4]?.at ?? 0) - startedAt
    expect(tookMs).toBeGreaterThan(600)
    expect(tookMs).toBeLessThan(4_000)
  })

  it('keep their interval when several processes upsert them often', async () => {
    const [one, two] = [systems.open(), systems.open()]
    const queue = aQueue()
    const ticks: number[] = []
    for (const system of [one, two])
      await system.work(queue, async () => void ticks.push(Date.now()))

    const startedAt = Date.now()
    let upserts = 0
    while (Date.now() < startedAt + 3_000) {
      await Promise.all([one, two].map((s) => s.upsertTick({ queue, name: 't', everyMs: 500 })))
      upserts += 2
    }

    // About a tick a slot: upserts that meet at one moment may each make one, but by no means all of them do.
    const slots = Math.ceil((Date.now() - startedAt) / 500)
    expect(upserts).toBeGreaterThan(20)
    expect(ticks.length).toBeGreaterThanOrEqual(5)
    expect(ticks.length).toBeLessThanOrEqual(2 * slots)
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
