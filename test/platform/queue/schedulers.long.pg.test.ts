import { afterEach, expect, it, onTestFinished, vi } from 'vitest'
import type { Scheduler } from '../../../src/platform/queue/queue-system.ts'
import { until } from '../../support/until.ts'
import { aQueue, createSystems, FAST_WORK } from './queue-fixtures.ts'
import { describeStores } from './queue-stores.ts'

const HOUR_MS = 3_600_000

const every = (name: string, everyMs: number): Scheduler => {
  return { name, times: { everyMs }, payload: { of: name }, attempts: 1 }
}
const by = (name: string, pattern: string, zone = 'UTC'): Scheduler => {
  return { name, times: { pattern, zone }, payload: {}, attempts: 1 }
}

/** Sets the clock of this process, on which BullMQ relies. Timers go on as they are. */
function setClock(at: Date): void {
  vi.useFakeTimers({ toFake: ['Date'], now: at })
  onTestFinished(() => void vi.useRealTimers())
}

describeStores('the job schedulers of a queue', (store) => {
  const systems = createSystems(store)
  afterEach(systems.closeAll)

  it('run their work at once and then at each interval, once for all workers', async () => {
    const queue = aQueue()
    const ran: { readonly name: string; readonly dueMs: number }[] = []
    const open = [systems.open(), systems.open()]
    for (const system of open) {
      await system.work(queue, async (_, { name, dueAt }) => {
        ran.push({ name, dueMs: dueAt.getTime() })
      })
    }

    for (const system of open) await system.reconcile(queue, [every('a', 500)])
    const reconciledMs = Date.now()
    await until('four runs', () => ran.length >= 4)

    const dueMs = ran.map((run) => run.dueMs).toSorted((a, b) => a - b)
    expect(dueMs[0]).toBeLessThanOrEqual(reconciledMs)
    expect(new Set(dueMs).size).toBe(ran.length)
    const gapsMs = dueMs.slice(1).map((at, i) => at - (dueMs[i] ?? 0))
    // The second due time is the next whole interval since 1970. Each is rounded to a millisecond.
    expect(Math.min(...gapsMs.slice(1))).toBeGreaterThanOrEqual(499)
    expect(ran.every(({ name }) => name === 'a')).toBe(true)
  })

  it('are exactly those that are wanted, and are written once', async () => {
    const queue = aQueue()
    const system = systems.open()
    const wanted = [every('a', HOUR_MS), by('b', '0 4 * * *', 'Europe/Madrid')]

    expect(await system.reconcile(queue, [every('old', HOUR_MS), ...wanted])).toHaveLength(3)
    expect(await system.reconcile(queue, wanted)).toEqual([])
    expect(
      await system.reconcile(queue, [every('a', 2 * HOUR_MS), wanted[1] as Scheduler]),
    ).toEqual(['a'])

    expect(await system.schedulers(queue)).toMatchObject([
      { name: 'a', times: { everyMs: 2 * HOUR_MS } },
      { name: 'b', times: { pattern: '0 4 * * *', zone: 'Europe/Madrid' }, lastDueAt: null },
    ])
  })

  it('give each job exactly the due time of its pattern', async () => {
    const queue = aQueue()
    const system = systems.open()
    const dueMs: number[] = []
    await system.work(queue, async (_, { dueAt }) => void dueMs.push(dueAt.getTime() % 1_000))
    // BullMQ reads the clock several times for one job: some milliseconds pass between two readings.
    const realNow = Date.now
    let readings = 0
    const clock = vi.spyOn(Date, 'now').mockImplementation(() => {
      readings += 1
      return realNow() + (readings % 3)
    })
    onTestFinished(() => clock.mockRestore())

    await system.reconcile(queue, [by('a', '* * * * * *')])
    await until('four runs', () => dueMs.length >= 4)

    expect(new Set(dueMs)).toEqual(new Set([0]))
  })

  it('make the next due time although the worker of one has died in it', async () => {
    const queue = aQueue()
    const dying = systems.open()
    const due: number[] = []
    const begun = Promise.withResolvers<void>()
    await dying.work(
      queue,
      async (_, { dueAt }) => {
        due.push(dueAt.getTime())
        begun.resolve()
        await new Promise(() => undefined)
      },
      FAST_WORK,
    )
    await dying.reconcile(queue, [every('a', 2_000)])
    await begun.promise
    await dying.close({ graceMs: 0 })

    const heir = systems.open()
    const received: number[] = []
    await heir.work(queue, async (_, { dueAt }) => void received.push(dueAt.getTime()), FAST_WORK)
    await until('two due times', () => new Set(received).size >= 2)

    expect(received).toContain(due[0])
    expect(new Set(received).size).toBe(received.length)
  })

  it('run once for all due times over which the clock was set forward', async () => {
    const queue = aQueue()
    const system = systems.open()
    await system.reconcile(queue, [by('a', '0 * * * *')])
    const [before] = await system.schedulers(queue)
    const due: Date[] = []

    setClock(new Date(Date.now() + 10 * HOUR_MS))
    await system.work(queue, async (_, { dueAt }) => void due.push(dueAt))
    await until('a run', () => due.length > 0)
    await until('the next due time', async () => {
      const [after] = await system.schedulers(queue)
      return (after?.nextDueAt.getTime() ?? 0) > Date.now()
    })

    expect(due).toEqual([before?.nextDueAt])
  })

  it.each([
    ['skips', '2026-03-28T12:00:00Z', '2026-03-29T01:30:00.000Z'],
    ['repeats', '2026-10-25T00:45:00Z', '2026-10-26T01:30:00.000Z'],
  ])('are due once in an hour that summer time %s', async (_how, at, dueAt) => {
    const queue = aQueue()
    const system = systems.open()
    setClock(new Date(at))

    await system.reconcile(queue, [by('a', '30 2 * * *', 'Europe/Madrid')])

    expect((await system.schedulers(queue))[0]?.nextDueAt.toISOString()).toBe(dueAt)
  })
})
