import { once } from 'node:events'
import net from 'node:net'
import { text } from 'node:stream/consumers'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { describe, expect, onTestFinished } from 'vitest'
import { type DatabaseOptions, openDatabase, sql } from '../../src/platform/db/database.ts'
import { inTransaction } from '../../src/platform/db/transaction.ts'
import { manyRoutes, sync } from '../routes/sync-fixtures.ts'
import { ask, bearer, newKeyText, startApi } from '../support/api-server.ts'
import { freePort } from '../support/redis-tier.ts'
import { silentLog } from '../support/silent-log.ts'
import { it } from './shared-api.ts'

/** Sends the bytes over a socket and returns everything that the server sends. */
async function exchange(base: string, request: string): Promise<string> {
  const socket = net.connect(Number(new URL(base).port), '127.0.0.1')
  socket.on('error', () => undefined)
  await once(socket, 'connect')
  socket.end(request)
  return text(socket)
}

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

describe('requests', () => {
  it.for([
    ['GET', '/nowhere', 404, 'not_found', null],
    ['GET', '/api/v1/status/', 404, 'not_found', null],
    ['GET', '/API/v1/status', 404, 'not_found', null],
    ['POST', '/nowhere', 404, 'not_found', null],
    ['DELETE', '/api/v1/status', 405, 'request.no_method', 'GET, HEAD'],
    ['POST', '/api/v1/status?a=1', 405, 'request.no_method', 'GET, HEAD'],
    ['PROPFIND', '/api/v1/status', 405, 'request.no_method', 'GET, HEAD'],
  ] as const)(
    'the request %s %s is answered by %d',
    async ([method, path, status, code, allow], { api: { base } }) => {
      const body =
        method === 'POST' ? { body: '<a/>', headers: { 'content-type': 'text/xml' } } : {}

      const answer = await ask(`${base}${path}`, { method, ...body })

      expect(answer).toMatchObject({ status, body: { code, status } })
      expect(answer.headers.get('allow')).toBe(allow)
    },
  )

  it.for([
    ['a very long address', `/api/v1/status?a=${'x'.repeat(9_000)}`, {}, 414],
    ['an address that cannot be decoded', '/api/v1/%zz', {}, 400],
    ['very large headers', '/api/v1/status', { x: 'x'.repeat(20_000) }, 431],
    ['a compressed body', '/api/v1/status', { 'content-encoding': 'gzip' }, 415],
  ] as const)(
    'a request with %s is refused',
    async ([, path, headers, status], { api: { base } }) => {
      const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)

      const answer = await exchange(
        base,
        `GET ${path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n${lines.join('')}\r\n`,
      )

      expect(answer).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `))
      expect(answer).toMatch(/content-type: application\/problem\+json/i)
    },
  )

  it('the problem of unknown parameters names them and the known ones', async ({
    api: { base, seed },
  }) => {
    const headers = bearer(seed.keys.operator)

    const { body } = await ask(`${base}/api/v1/sync-runs?lmit=1&list=routes&after=2`, { headers })

    expect(body).toMatchObject({
      status: 400,
      code: 'request.unknown_parameter',
      parameter: 'lmit',
      detail: 'the endpoint does not have "lmit", "after": it has list, statuses, limit, cursor',
    })
  })

  it('a key that is given twice is refused on the upstream’s own endpoints too', async ({
    api: { base, seed },
  }) => {
    const key = seed.keys.alpha

    const { body } = await ask(`${base}/api/v1/data/routes?accessToken=${key}&accessToken=${key}`)

    expect(body).toMatchObject({
      code: 'request.doubled_parameter',
      parameter: 'accessToken',
    })
  })
})

describe('pages', () => {
  it('following the cursors shows every item once', async ({ db }) => {
    for (let i = 0; i < 5; i += 1) await sync(db, manyRoutes(3 + i))
    const base = await startApi(db)
    const headers = bearer(await newKeyText(db))
    const seen: number[] = []

    let cursor: string | null = ''
    while (cursor !== null) {
      const from: string = cursor === '' ? '' : `&cursor=${encodeURIComponent(cursor)}`
      const { body } = await ask(`${base}/api/v1/sync-runs?limit=2${from}`, { headers })
      seen.push(...(body.items as { runId: number }[]).map(({ runId }) => runId))
      cursor = body.next as string | null
    }

    expect(seen).toHaveLength(5)
    expect(seen).toEqual([...new Set(seen)].sort((a, b) => b - a))
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
      return [
        await ask(`${await startApi(nowhere.db)}/api/v1/status`, { headers }),
        await ask(`${await startApi(hasty.db)}/api/v1/sync-runs`, { headers }),
        await ask(`${await startApi(small.db)}/api/v1/status`, { headers }),
      ]
    })

    for (const answer of answers) {
      expect(answer).toMatchObject({ status: 503, body: { code: 'store.unavailable' } })
      expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0)
    }
  })
})
