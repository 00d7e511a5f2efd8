import { once } from 'node:events'
import http from 'node:http'
import { buffer } from 'node:stream/consumers'
import { brotliDecompressSync } from 'node:zlib'
import { describe, expect, onTestFinished } from 'vitest'
import { type DatabaseOptions, openDatabase, sql } from '../../src/platform/db/database.ts'
import { inTransaction } from '../../src/platform/db/transaction.ts'
import { manyRoutes, sync } from '../routes/sync-fixtures.ts'
import { ask, bearer, newKeyText, startApi } from '../support/api-server.ts'
import { freePort } from '../support/redis-tier.ts'
import { silentLog } from '../support/silent-log.ts'
import { it } from './shared-api.ts'

describe('responses', () => {
  it('a response carries the client’s request id if it is valid, else a new one', async ({
    api: { base },
  }) => {
    const idFor = async (given: string) => {
      const { headers, body } = await ask(`${base}/nowhere`, { headers: { 'x-request-id': given } })
      expect(body.requestId).toBe(headers.get('x-request-id'))
      return headers.get('x-request-id')
    }

    expect(await idFor('order-7:a.b_c')).toBe('order-7:a.b_c')
    for (const invalid of ['a b', '<script>', 'x'.repeat(65), '{"a":1}']) {
      expect(await idFor(invalid)).toMatch(/^[0-9a-f-]{36}$/)
    }
  })

  it('a large response is encoded for a client that accepts it', async ({ db }) => {
    await sync(db, manyRoutes(300))
    const base = await startApi(db)
    const key = await newKeyText(db)
    const headers = { ...bearer(key), 'accept-encoding': 'br' }
    const request = http.get(`${base}/api/v1/data/routes`, { headers })
    const [response] = (await once(request, 'response')) as [http.IncomingMessage]
    expect(response.headers['content-encoding']).toBe('br')
    const encoded = await buffer(response)
    const plain = await ask(`${base}/api/v1/data/routes`, {
      headers: { ...bearer(key), 'accept-encoding': 'identity' },
    })
    expect(plain.headers.get('content-encoding')).toBeNull()
    expect(brotliDecompressSync(encoded).toString()).toBe(plain.text)
  })
})

describe('an unavailable database', () => {
  /** Opens the database in a way in which it cannot be used. */
  function openBadly(url: string, options: Partial<DatabaseOptions> = {}) {
    const database = openDatabase({ url, applicationName: 'test', log: silentLog, ...options })
    onTestFinished(() => database.close())
    return database
  }

  it('is answered by a 503 with Retry-After, also if it is too slow or has no free connection', async ({
    db,
    databaseUrl,
  }) => {
    const headers = bearer(await newKeyText(db))
    const nowhere = openBadly(`postgres://nobody@127.0.0.1:${await freePort()}/none`)
    const hasty = openBadly(databaseUrl, { statementTimeoutMs: 300 })
    const small = openBadly(databaseUrl, { maxConnections: 1 })
    const taken = await small.pool.connect()
    onTestFinished(() => taken.release())

    const answers = await inTransaction(db, async (tx) => {
      await sql`lock table sync_run in access exclusive mode`.execute(tx)
      return Promise.all([
        ask(`${await startApi(nowhere.db)}/api/v1/status`, { headers }),
        ask(`${await startApi(hasty.db)}/api/v1/sync-runs`, { headers }),
        ask(`${await startApi(small.db)}/api/v1/status`, { headers }),
      ])
    })

    for (const answer of answers) {
      expect(answer).toMatchObject({ status: 503, body: { code: 'store.unavailable' } })
      expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0)
    }
  })
})
