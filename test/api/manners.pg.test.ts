import net from 'node:net'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
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

  it.for([
    ['br', brotliDecompressSync],
    ['gzip', gunzipSync],
  ] as const)(
    'a large response is encoded with %s for a client that accepts it',
    async ([encoding, inflate], { db }) => {
      await sync(db, manyRoutes(300))
      const base = await startApi(db)
      const key = await newKeyText(db)
      const head = `GET /api/v1/data/routes HTTP/1.1\r\nhost: x\r\nconnection: close\r\nauthorization: Bearer ${key}`
      const { port } = new URL(base)
      const socket = net.connect(Number(port), '127.0.0.1')
      socket.write(`${head.replace('1.1', '1.0')}\r\naccept-encoding: ${encoding}\r\n\r\n`)
      const chunks: Buffer[] = []
      for await (const chunk of socket) chunks.push(chunk as Buffer)
      const whole = Buffer.concat(chunks)
      const cut = whole.indexOf('\r\n\r\n')

      expect(whole.subarray(0, cut).toString()).toMatch(
        new RegExp(`content-encoding: ${encoding}`, 'i'),
      )
      const plain = await ask(`${base}/api/v1/data/routes`, {
        headers: { ...bearer(key), 'accept-encoding': 'identity' },
      })
      expect(plain.headers.get('content-encoding')).toBeNull()
      expect(inflate(whole.subarray(cut + 4)).toString()).toBe(plain.text)
    },
  )
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
