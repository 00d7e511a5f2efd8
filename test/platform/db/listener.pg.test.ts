import { describe, expect, onTestFinished } from 'vitest'
import { type Db, sql } from '../../../src/platform/db/database.ts'
import {
  createListener,
  type ListenerOptions,
  notify,
  type Topic,
} from '../../../src/platform/db/listener.ts'
import { inTransaction } from '../../../src/platform/db/transaction.ts'
import { silentLog } from '../../support/silent-log.ts'
import { createTcpProxy } from '../../support/tcp-proxy.ts'
import { it } from '../../support/test-database.ts'
import { until } from '../../support/until.ts'
import { terminate } from './sessions.ts'

/** A listener, and the ids with which it notified the subscriber of a topic. */
function listenTo(topic: Topic, options: Pick<ListenerOptions, 'url' | 'probeEveryMs'>) {
  const listener = createListener({ ...options, log: silentLog })
  onTestFinished(() => listener.close())
  const notified: (number | undefined)[] = []
  const end = listener.subscribe(topic, (id) => notified.push(id))
  const notifiedTimes = (n: number) => until(`${n} notifications`, () => notified.length >= n)
  return { listener, notified, notifiedTimes, end }
}

async function send(db: Db, topic: Topic, id: number): Promise<void> {
  await sql`select ${notify(topic, sql`${id}::bigint`)}`.execute(db)
}

async function listeningPid(db: Db): Promise<number | undefined> {
  const { rows } = await sql<{ pid: number }>`
    select pid from pg_stat_activity
     where datname = current_database() and application_name = 'farewatch listener'
  `.execute(db)
  return rows[0]?.pid
}

describe('the listener', () => {
  it('notifies the subscribers of a topic at each commit, and not before or after a rollback', async ({
    db,
    databaseUrl: url,
  }) => {
    const { notified, notifiedTimes, end } = listenTo('watch', { url })
    await notifiedTimes(1)

    await inTransaction(db, async (tx) => {
      await send(tx, 'watch', 7)
      await send(db, 'route', 1)
      await send(db, 'watch', 6)
    })
    await inTransaction(db, async (tx) => {
      await send(tx, 'watch', 8)
      throw new Error('rolled back')
    }).catch(() => undefined)
    await send(db, 'watch', 9)
    await notifiedTimes(4)
    expect(notified).toEqual([undefined, 6, 7, 9])

    end()
    await send(db, 'watch', 10)
    const { rows } = await sql`select`.execute(db)
    expect([rows.length, notified.length]).toEqual([1, 4])
  })

  // Fault: The listening connection is ended or stalls; a notification is lost.
  it('listens again after its connection was ended, and then notifies every subscriber', async ({
    db,
    databaseUrl: url,
  }) => {
    const { notified, notifiedTimes } = listenTo('watch', { url })
    await notifiedTimes(1)

    await terminate(db, (await listeningPid(db)) ?? 0)
    await notifiedTimes(2)
    await send(db, 'watch', 5)
    await notifiedTimes(3)

    expect(notified).toEqual([undefined, undefined, 5])
  })

  it('replaces a connection that stalls', async ({ db, databaseUrl }) => {
    const address = new URL(databaseUrl)
    const proxy = await createTcpProxy({ host: address.hostname, port: Number(address.port) })
    onTestFinished(() => proxy.close())
    address.host = `127.0.0.1:${proxy.port}`
    const { notified, notifiedTimes } = listenTo('watch', { url: address.href, probeEveryMs: 10 })
    await notifiedTimes(1)

    proxy.halfOpen()
    await notifiedTimes(2)
    await send(db, 'watch', 5)
    await notifiedTimes(3)

    expect(notified).toEqual([undefined, undefined, 5])
  })
})
