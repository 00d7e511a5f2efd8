import { setTimeout as delay } from 'node:timers/promises'
import { describe, expect, onTestFinished } from 'vitest'
import { type Database, openDatabase, sql } from '../../../src/platform/db/database.ts'
import { isDatabaseUnavailable } from '../../../src/platform/db/database-health.ts'
import { inTransaction } from '../../../src/platform/db/transaction.ts'
import { silentLog } from '../../support/silent-log.ts'
import { createTcpProxy, type TcpProxy } from '../../support/tcp-proxy.ts'
import { it } from '../../support/test-database.ts'
import { backendOf } from './sessions.ts'

/** The server cancels a statement after one second. The client gives up five seconds later. */
const STATEMENT_TIMEOUT_MS = 1_000
const CLIENT_TIMEOUT_MS = 6_000

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
    statementTimeoutMs: STATEMENT_TIMEOUT_MS,
  })
  onTestFinished(async () => {
    await database.close()
    await door.close()
  })
  return { database, door }
}

describe('a connection whose peer has vanished', () => {
  it('fails its query in time and is not reused', async ({ databaseUrl }) => {
    const { database, door } = await openBehindDoor(databaseUrl)
    const { db, pool } = database
    const vanished = await backendOf(db)
    door.halfOpen()

    const err = await backendOf(db).catch((thrown: unknown) => thrown)

    expect(isDatabaseUnavailable(err)).toBe(true)
    expect(await backendOf(db)).not.toBe(vanished)
    expect(pool.totalCount).toBe(1)
  })

  it('fails the later queries of its transaction at once', async ({ databaseUrl }) => {
    const { database, door } = await openBehindDoor(databaseUrl)
    const { db } = database

    const work = inTransaction(db, async (tx) => {
      await backendOf(tx)
      door.halfOpen()
      await backendOf(tx).catch(() => undefined)
      // A query that reached the connection would wait for its own timeout.
      const later = backendOf(tx).then(String, () => 'failed')
      expect(await Promise.race([later, delay(CLIENT_TIMEOUT_MS / 2, 'waits')])).toBe('failed')
      await later
      await backendOf(tx)
    })

    await expect(work).rejects.toThrow('Query read timeout')
    expect(await backendOf(db)).toBeGreaterThan(0)
  })
})

describe('a transaction that raises its statement timeout', () => {
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
