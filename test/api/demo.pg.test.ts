import { once } from 'node:events'
import http from 'node:http'
import net from 'node:net'
import { json, text } from 'node:stream/consumers'
import { describe, expect } from 'vitest'
import { createApiKey, revokeApiKey } from '../../src/resellers/api-keys.ts'
import { createReseller } from '../../src/resellers/resellers.ts'
import { ask, bearer, newKeyText, startApi } from '../support/api-server.ts'
import { it } from '../support/test-database.ts'

const DEMO = { openReseller: 'demo' }

/** Sends a request with headers that fetch does not allow to set. */
async function send(base: string, headers: Record<string, string>) {
  const request = http.request(`${base}/api/v1/status`, { headers }).end()
  const [response] = (await once(request, 'response')) as [http.IncomingMessage]
  return { status: response.statusCode, body: (await json(response)) as Record<string, unknown> }
}

describe('the demo', () => {
  it('the demo needs no key until the first one exists, and its responses say so', async ({
    db,
  }) => {
    await createReseller(db, 'demo')
    let nowMs = 0
    const base = await startApi(db, { ...DEMO, nowMs: () => nowMs })

    const open = await ask(`${base}/api/v1/status`)
    const key = await newKeyText(db)
    nowMs += 1_000
    const closed = await ask(`${base}/api/v1/status`)

    expect(open.status).toBe(200)
    expect(open.headers.get('farewatch-demo')).toBe(
      'open without a key until the first one is created',
    )
    expect(closed).toMatchObject({ status: 401, body: { code: 'access.no_key' } })
    const keyed = await ask(`${base}/api/v1/status`, { headers: bearer(key) })
    expect(keyed.status).toBe(200)
    expect(keyed.headers.get('farewatch-demo')).toBeNull()
  })

  it('the demo does not open again when the first key is revoked', async ({ db }) => {
    await createReseller(db, 'demo')
    const { key } = await createApiKey(db, { resellerId: null })
    await revokeApiKey(db, key.id)
    const base = await startApi(db, DEMO)

    expect((await ask(`${base}/api/v1/status`)).status).toBe(401)
  })

  it('the demo shows what an operator reads, and changes nothing of it', async ({ db }) => {
    await createReseller(db, 'demo')
    const base = await startApi(db, DEMO)

    for (const path of ['incidents', 'held-runs', 'keys', 'resellers']) {
      expect((await ask(`${base}/api/v1/${path}`)).status, path).toBe(200)
    }
    expect((await ask(`${base}/api/v1/status`)).body.budget).not.toBeNull()
    const post = { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{}' }
    for (const path of ['held-runs/1/approve', 'keys', 'resellers']) {
      const { status, body } = await ask(`${base}/api/v1/${path}`, post)
      expect(body, path).toMatchObject({ code: 'access.missing_scope' })
      expect(status).toBe(403)
    }
  })

  it('the demo refuses an invalid key', async ({ db }) => {
    await createReseller(db, 'demo')
    const base = await startApi(db, DEMO)

    expect((await ask(`${base}/api/v1/status`, { headers: bearer('fwk_wrong') })).status).toBe(401)
  })

  it('the demo refuses requests that name another host or come from another origin', async ({
    db,
  }) => {
    await createReseller(db, 'demo')
    const base = await startApi(db, DEMO)
    const local = { host: 'localhost:1' }

    for (const [what, headers, parameter] of [
      ['another name of this machine', { host: 'evil.example:8080' }, 'Host'],
      ['a name that begins like a local one', { host: 'localhost.evil.example' }, 'Host'],
      ['a network address of this machine', { host: '192.168.1.7:8080' }, 'Host'],
      ['a page of another origin', { ...local, origin: 'http://localhost:2' }, 'Origin'],
      ['a page without an origin', { ...local, origin: 'null' }, 'Origin'],
      ['an image of another site', { ...local, 'sec-fetch-site': 'cross-site' }, 'Sec-Fetch-Site'],
      ['a page on another port', { ...local, 'sec-fetch-site': 'same-site' }, 'Sec-Fetch-Site'],
    ] as const) {
      const { status, body } = await send(base, headers)

      expect(status, what).toBe(403)
      expect(body, what).toMatchObject({ code: 'access.not_local', parameter })
    }
  })

  it('the demo refuses requests that a proxy forwards', async ({ db }) => {
    await createReseller(db, 'demo')
    const base = await startApi(db, DEMO)
    for (const name of [
      'forwarded',
      'via',
      'x-forwarded-for',
      'x-forwarded-host',
      'x-forwarded-proto',
      'x-forwarded',
      'x-original-host',
      'x-real-ip',
      'x-client-ip',
      'true-client-ip',
      'cf-connecting-ip',
      'cdn-loop',
    ]) {
      const { status, body } = await send(base, { host: '127.0.0.1', [name]: '203.0.113.7' })

      expect(status).toBe(403)
      expect(body).toMatchObject({ code: 'access.not_local', parameter: name })
    }
  })

  it('the demo refuses HTTP/1.0, which a proxy that adds no header may use', async ({ db }) => {
    await createReseller(db, 'demo')
    const base = await startApi(db, DEMO)
    const socket = net.connect(Number(new URL(base).port), '127.0.0.1')
    socket.write('GET /api/v1/status HTTP/1.0\r\nHost: 127.0.0.1\r\n\r\n')

    expect(await text(socket)).toMatch(/^HTTP\/1\.1 403 .*access\.not_local/s)
  })

  it('the demo answers local requests', async ({ db }) => {
    await createReseller(db, 'demo')
    const base = await startApi(db, DEMO)

    for (const headers of [
      { host: 'localhost:1' },
      { host: 'LOCALHOST' },
      { host: '127.0.0.1:8080' },
      { host: '[::1]:8080' },
      { host: 'localhost:1', origin: 'http://localhost:1', 'sec-fetch-site': 'same-origin' },
    ]) {
      expect((await send(base, headers)).status, JSON.stringify(headers)).toBe(200)
    }
  })

  it('requests with a key are not checked for their origin', async ({ db }) => {
    const base = await startApi(db, DEMO)
    const headers = {
      ...bearer(await newKeyText(db)),
      host: 'fares.example',
      origin: 'https://a.b',
    }

    expect((await send(base, headers)).status).toBe(200)
  })
})
