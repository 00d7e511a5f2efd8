import { describe, expect, onTestFinished } from 'vitest'
import { type Database, openDatabase } from '../../../src/platform/db/database.ts'
import { isDatabaseUnavailable } from '../../../src/platform/db/database-health.ts'
import { silentLog } from '../../support/silent-log.ts'
import { createTcpProxy, type TcpProxy } from '../../support/tcp-proxy.ts'
import { it } from '../../support/test-database.ts'
import { backendOf } from './sessions.ts'

/** The server cancels a statement after one second. The client gives up five seconds later. */
const STATEMENT_TIMEOUT_MS = 1_000

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
})
