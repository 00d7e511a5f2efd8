import { describe, expect, onTestFinished } from 'vitest'
import { type Database, openDatabase, sql } from '../../src/db/database.ts'
import { isDatabaseUnavailable } from '../../src/db/database-health.ts'
import { inTransaction } from '../../src/db/transaction.ts'
import { silentLog } from '../support/silent-log.ts'
import { createTcpProxy, type TcpProxy } from '../support/tcp-proxy.ts'
import { it } from '../support/test-database.ts'
import { backendOf } from './sessions.ts'

/** The server cancels a statement after one second. The client gives up five seconds later. */
const TIMEOUTS = { statementTimeoutMs: 1_000, noticedMs: 6_000 }

async function openBehindDoor(url: string): Promise<{ database: Database; door: TcpProxy }> {
  const { hostname, port } = new URL(url)
  const door = await createTcpProxy({ host: hostname, port: Number(port || 5432) })
  const throughDoor = new URL(url)
  throughDoor.host = `127.0.0.1:${door.port}`
  const database = openDatabase({
    url: throughDoor.href,
    applicationName: 'test',
    log: silentLog,
    maxConnections: 1,
    statementTimeoutMs: TIMEOUTS.statementTimeoutMs,
  })
  onTestFinished(async () => {
    await database.close()
    await door.close()
  })
  return { database, door }
}

describe('a connection whose peer has vanished', { timeout: 40_000 }, () => {
  it('fails its query in time and is not reused', async ({ databaseUrl }) => {
    const { database, door } = await openBehindDoor(databaseUrl)
    const { db, pool } = database
    const vanished = await backendOf(db)
    door.halfOpen()
    const from = performance.now()

    const err = await backendOf(db).catch((thrown: unknown) => thrown)

    expect(isDatabaseUnavailable(err)).toBe(true)
    expect(performance.now() - from).toBeGreaterThan(TIMEOUTS.noticedMs - 500)
    expect(performance.now() - from).toBeLessThan(TIMEOUTS.noticedMs + 5_000)
    expect(await backendOf(db)).not.toBe(vanished)
    expect(pool.totalCount).toBe(1)
  })

  it('fails the later queries of its transaction at once', async ({ databaseUrl }) => {
    const { database, door } = await openBehindDoor(databaseUrl)
    const { db } = database
    const from = performance.now()

    const work = inTransaction(db, async (tx) => {
      await backendOf(tx)
      door.halfOpen()
      await backendOf(tx).catch(() => undefined)
      await backendOf(tx)
    })

    await expect(work).rejects.toThrow('Query read timeout')
    expect(performance.now() - from).toBeLessThan(TIMEOUTS.noticedMs + 5_000)
    expect(await backendOf(db)).toBeGreaterThan(0)
  })
})

describe('a transaction that raises its statement timeout', { timeout: 40_000 }, () => {
  it('raises the client’s timeout too, for this transaction alone', async ({
    database: { db },
    databaseUrl,
  }) => {
    const { database } = await openBehindDoor(databaseUrl)

    await inTransaction(database.db, async (tx) => {
      await sql`set local statement_timeout = '15min'`.execute(tx)
      await sql`select pg_sleep(6.5)`.execute(tx)
    })

    expect(await backendOf(db)).toBeGreaterThan(0)
    await expect(sql`select pg_sleep(2)`.execute(database.db)).rejects.toMatchObject({
      code: '57014',
    })
  })
})
