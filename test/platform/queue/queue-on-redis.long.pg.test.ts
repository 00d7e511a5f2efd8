import { setTimeout as delay } from 'node:timers/promises'
import { inspect } from 'node:util'
import { afterEach, expect, it } from 'vitest'
import { systemClock } from '../../../src/platform/base/clock.ts'
import { QueueUnavailableError } from '../../../src/platform/queue/queue-errors.ts'
import { until } from '../../support/until.ts'
import { aQueue, createSystems, FAST_WORK } from './queue-fixtures.ts'
import { describeOwnRedis } from './queue-stores.ts'
import type { TestStore } from './test-store.ts'

describeOwnRedis('a queue', (store) => {
  const systems = createSystems(store)
  afterEach(async () => {
    await systems.closeAll()
    for (const order of MENDING) await store().ask(order)
  })

  it('warns at start if Redis may evict jobs or the clock is wrong', async () => {
    await store().ask('CONFIG SET maxmemory-policy allkeys-lru')
    const clock = { ...systemClock, now: () => new Date(Date.now() + 600_000) }

    await systems.open({ clock }).start()

    const warnings = systems.book.lines().filter((line) => line.includes('"warn"'))
    expect(
      warnings.filter((line) => line.includes('set maxmemory-policy to noeviction')),
    ).toHaveLength(1)
    expect(warnings.filter((line) => line.includes('clock differs'))).toHaveLength(1)
  })

  it('reports a wrong password without printing it', async () => {
    await store().ask('ACL SETUSER worker on >right ~* +@all')
    const url = new URL(store().connection.url)
    url.username = 'worker'
    url.password = 'canary-of-redis'
    const system = systems.open({ connection: { kind: 'redis', url: url.href } })

    const failure = (await system.start().catch((err: unknown) => err)) as Error

    expect(failure).toBeInstanceOf(QueueUnavailableError)
    expect(failure.message).toMatch(/WRONGPASS/)
    expect(inspect(failure, { depth: 9 })).not.toContain('canary')
    expect(systems.book.has('canary')).toBe(false)
  })

  it.each([
    ['is out of memory', 'CONFIG SET maxmemory 1', /OOM/],
    ['is read-only', 'REPLICAOF 127.0.0.1 1', /READONLY|cannot be used/],
  ])(
    'fails while Redis %s, does not flood the log, and goes on when it is well',
    async (_what, order, message) => {
      const system = systems.open()
      const queue = aQueue()
      let ran = 0
      await system.start()
      await system.work(
        queue,
        async () => {
          ran += 1
        },
        FAST_WORK,
      )
      const linesBefore = systems.book.lines().length
      await store().ask(order)

      const commandsBefore = await commandsOf(store())
      const failure = await system.enqueue(queue, { payload: {} }).catch((err: unknown) => err)
      await delay(2_000)

      expect(failure).toBeInstanceOf(QueueUnavailableError)
      expect(String(failure)).toMatch(message)
      expect(systems.book.lines().length - linesBefore).toBeLessThan(10)
      expect((await commandsOf(store())) - commandsBefore).toBeLessThan(300)
      for (const mending of MENDING) await store().ask(mending)
      await until('a later job ran', async () => {
        await system.enqueue(queue, { payload: {}, id: 'x' }).catch(() => undefined)
        return ran > 0
      })
    },
  )
})

async function commandsOf(store: TestStore): Promise<number> {
  const stats = String(await store.ask('INFO stats'))
  return Number(/total_commands_processed:(\d+)/.exec(stats)?.[1])
}

const MENDING = [
  'CONFIG SET maxmemory 0',
  'CONFIG SET maxmemory-policy noeviction',
  'REPLICAOF NO ONE',
]
