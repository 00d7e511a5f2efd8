import { brotliDecompressSync } from 'node:zlib'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createApi } from '../../../src/platform/http/api.ts'
import { createRateLimit } from '../../../src/platform/http/rate-limit.ts'
import { silentLog } from '../../support/silent-log.ts'

const DOCUMENT = { openapi: '3.1.0', info: { title: 'x'.repeat(5_000), version: '1' }, paths: {} }

function anApi(requestsPerSecond = 1_000, pause: () => Promise<void> = async () => undefined) {
  const server = createApi({
    log: silentLog,
    operations: [],
    deps: {},
    document: DOCUMENT,
    access: { callerOf: async () => 'unknown' },
    limit: createRateLimit({ requestsPerSecond, nowMs: () => 0, pause }),
  })
  onTestFinished(() => server.close())
  return (url: string, headers: Record<string, string> = {}) =>
    server.inject({ method: 'GET', url, headers })
}

describe('the documentation, which needs no key', () => {
  it.each(['/openapi.json', '/docs/json'])(
    'the document at %s is sent from memory in each encoding, with one tag',
    async (url) => {
      const get = anApi()

      const plain = await get(url)
      const small = await get(url, { 'accept-encoding': 'gzip, br' })
      const known = { 'if-none-match': String(plain.headers.etag), 'accept-encoding': 'br' }

      expect(plain.json()).toEqual(DOCUMENT)
      expect(small.headers['content-encoding']).toBe('br')
      // A body that is compressed for the request has no length.
      expect(small.headers['content-length']).toBe(String(small.rawPayload.length))
      expect(JSON.parse(brotliDecompressSync(small.rawPayload).toString())).toEqual(DOCUMENT)
      expect(small.headers.etag).toBe(plain.headers.etag)
      expect((await get(url, known)).statusCode).toBe(304)
    },
  )

  it('no page of the documentation is compressed for a request', async () => {
    const get = anApi()
    const page = await get('/docs/', { 'accept-encoding': 'br' })
    const links = [...page.payload.matchAll(/src="([^"]+)"/g)].map(([, link]) => link ?? '')

    expect(links.length).toBeGreaterThan(1)
    for (const link of ['/docs/', '/docs/yaml', ...links]) {
      const url = new URL(link, 'http://localhost/docs/').pathname
      const answer = await get(url, { 'accept-encoding': 'br' })
      expect(answer.statusCode, url).toBe(200)
      expect(answer.headers['content-encoding'], url).toBeUndefined()
    }
  })

  it('requests for the documentation count by address, and a refusal is held back', async () => {
    const paused = Promise.withResolvers<void>()
    const refusal = Promise.withResolvers<void>()
    const get = anApi(0.1, () => {
      paused.resolve()
      return refusal.promise
    })
    const order: string[] = []

    expect((await get('/openapi.json')).statusCode).toBe(200)
    const refused = get('/docs/').then(({ statusCode }) => order.push(`answered ${statusCode}`))
    await paused.promise
    order.push('paused')
    refusal.resolve()
    await refused

    expect(order).toEqual(['paused', 'answered 429'])
  })
})
