import pg from 'pg'
import { afterEach, expect, it } from 'vitest'
import { systemClock } from '../../../src/platform/base/clock.ts'
import { migrateQueue } from '../../../src/platform/queue/queue-connection.ts'
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

  it('finds its schema when the URL sets options of its own', async () => {
    const url = new URL(store().connection.url)
    url.searchParams.set('options', '-c search_path=public -c timezone=UTC')
    const system = systems.open({ connection: { kind: 'postgres', url: url.href } })
    const queue = aQueue()
    const ran = Promise.withResolvers<void>()

    await system.start()
    await system.work(queue, async () => ran.resolve())
    await system.enqueue(queue, { payload: {} })

    await ran.promise
  })

  it('gives advice when the schema is missing, and works once it exists', async () => {
    await store().ask('alter schema farewatch_queue rename to elsewhere')
    const system = systems.open()

    await expect(system.start()).rejects.toThrow(/farewatch_queue is missing.*farewatch migrate/)
    await store().ask('alter schema elsewhere rename to farewatch_queue')
    await system.start()
  })

  it('is migrated by one of several processes that migrate at the same time', async () => {
    const clients = [1, 2, 3].map(() => new pg.Client({ connectionString: store().connection.url }))
    await Promise.all(clients.map((client) => client.connect()))
    await store().ask('drop schema farewatch_queue cascade')
    const statements = clients.map((): string[] => [])
    const recording = clients.map((client, i) => ({
      query: (text: string, params: unknown[] = []) => {
        statements[i]?.push(text)
        return client.query(text, params)
      },
    }))

    await Promise.all(recording.map(migrateQueue))

    await Promise.all(clients.map((client) => client.end()))
    const inserts = statements.map((texts) =>
      texts.filter((text) => /insert into migration/i.test(text)),
    )
    const [applied] = (await store().ask(
      'select count(*)::int from farewatch_queue.migration',
    )) as {
      count: number
    }[]
    expect(applied?.count).toBeGreaterThan(0)
    const counts = inserts.map((texts) => texts.length).filter((count) => count > 0)
    expect(counts).toEqual([applied?.count])
    await systems.open().start()
  })

  it('warns when the clock differs from that of the database', async () => {
    const wrong = { ...systemClock, now: () => new Date(Date.now() - 600_000) }
    const system = systems.open({ clock: wrong })

    await system.start()

    expect(systems.book.has('clock differs')).toBe(true)
    expect(Math.abs((await system.facts()).clockSkewMs - 600_000)).toBeLessThan(60_000)
    expect(Math.abs((await systems.open().facts()).clockSkewMs)).toBeLessThan(60_000)
  })
})
