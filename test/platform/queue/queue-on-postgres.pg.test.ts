import { afterEach, expect, it } from 'vitest'
import { until } from '../../support/until.ts'
import { aQueue, createSystems } from './queue-fixtures.ts'
import { describePostgres } from './queue-stores.ts'

describePostgres('a queue', (store) => {
  const systems = createSystems(store)
  afterEach(systems.closeAll)

  it('uses no more connections than documented, and enqueues while all workers are busy', async () => {
    const system = systems.open()
    const queues = [aQueue(), aQueue(), aQueue(), aQueue()]
    const finish = Promise.withResolvers<void>()
    let running = 0
    for (const queue of queues) {
      await system.work(
        queue,
        async () => {
          running += 1
          await finish.promise
        },
        { concurrency: 5 },
      )
    }

    for (let n = 0; n < 5; n += 1) {
      await Promise.all(queues.map((queue) => system.enqueue(queue, { payload: { n } })))
    }
    await until('the jobs ran', () => running === 20)
    const [row] = (await store().ask(`
      select count(*)::int as connections from pg_stat_activity
       where datname = current_database() and pid <> pg_backend_pid()
    `)) as { connections: number }[]
    finish.resolve()

    expect(row?.connections).toBeLessThanOrEqual(2 + 3 * queues.length)
    expect(row?.connections).toBeGreaterThan(queues.length)
  })

  it('gives advice when the schema is missing, and works once it exists', async () => {
    await store().ask('alter schema farewatch_queue rename to elsewhere')
    const system = systems.open()

    await expect(system.start()).rejects.toThrow(/farewatch_queue is missing.*farewatch migrate/)
    await store().ask('alter schema elsewhere rename to farewatch_queue')
    await system.start()
  })
})
