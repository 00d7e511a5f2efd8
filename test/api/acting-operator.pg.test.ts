import { describe, expect } from 'vitest'
import { API_OPERATIONS } from '../../src/app/api-operations.ts'
import type { Db } from '../../src/platform/db/database.ts'
import { createReseller } from '../../src/resellers/resellers.ts'
import { type Answer, ask, bearer, newKeyText, startApi } from '../support/api-server.ts'
import { it } from '../support/test-database.ts'

const forReseller = (key: string, name: string) => ({
  ...bearer(key),
  'farewatch-reseller': encodeURIComponent(name),
})

describe('an operator that calls for a reseller', () => {
  it('is that reseller, with the scopes of its own key', async ({ db }) => {
    const base = await startApi(db)
    await createReseller(db, 'Ana Süd')
    const ben = await createReseller(db, 'ben')
    const operator = await newKeyText(db)
    const reader = await newKeyText(db, { scopes: ['read'] })
    const own = await newKeyText(db, { resellerId: ben.id })
    const create = (key: string, name: string) =>
      ask(`${base}/api/v1/watch-lists`, {
        method: 'POST',
        headers: { ...forReseller(key, name), 'content-type': 'application/json' },
        body: JSON.stringify({ name: 'summer' }),
      })
    const lists = async (headers: Record<string, string>) =>
      (await ask(`${base}/api/v1/watch-lists`, { headers })).body

    const made = await create(operator, 'Ana Süd')
    const refused = await create(reader, 'Ana Süd')
    const unknown = await create(operator, 'unknown')

    expect(made.status).toBe(201)
    expect(refused).toMatchObject({ status: 403, body: { code: 'access.missing_scope' } })
    expect(unknown).toMatchObject({ status: 404, body: { code: 'not_found', missing: 'reseller' } })
    expect(await lists(forReseller(reader, 'Ana Süd'))).toMatchObject({
      items: [{ name: 'summer' }],
    })
    expect(await lists(forReseller(operator, 'ben'))).toMatchObject({ items: [] })
    // The key of a reseller calls for itself, whatever the header says.
    expect(await lists(forReseller(own, 'Ana Süd'))).toMatchObject({ items: [] })
    expect(await lists(bearer(operator))).toMatchObject({ code: 'access.resellers_only' })
  })

  it('repeats a request for one reseller alone', async ({ db }) => {
    const base = await startApi(db)
    await createReseller(db, 'ana')
    await createReseller(db, 'ben')
    const operator = await newKeyText(db)
    const create = (name: string) =>
      ask(`${base}/api/v1/watch-lists`, {
        method: 'POST',
        headers: {
          ...forReseller(operator, name),
          'content-type': 'application/json',
          'idempotency-key': 'one',
        },
        body: JSON.stringify({ name: 'summer' }),
      })

    const [first, again, other] = [await create('ana'), await create('ana'), await create('ben')]

    expect([first.status, again.status]).toEqual([201, 201])
    expect(other).toMatchObject({ body: { code: 'request.other_repeated' } })
  })
})

describe('the account of operators', () => {
  const ACCOUNT = '(operators)'
  const ENDPOINTS = '/webhook-endpoints'
  const EMAIL = { format: 'email', target: 'ops@seller.example' }
  const QUIET = { from: 22, to: 7, zone: 'Europe/Madrid' }
  const DAILY = { type: 'daily', hour: 7, zone: 'Europe/Madrid' }

  async function open(db: Db) {
    const base = await startApi(db, {
      email: { smtpUrl: 'smtp://mail.example', from: 'fares@seller.example' },
    })
    const { id: resellerId } = await createReseller(db, 'ana')
    const keys = {
      operator: await newKeyText(db),
      reader: await newKeyText(db, { scopes: ['read'] }),
      ana: await newKeyText(db, { resellerId }),
    }
    const callAs =
      (key: string, account: string | null = ACCOUNT) =>
      (method: string, path: string, body?: object): Promise<Answer> =>
        ask(`${base}/api/v1${path}`, {
          method,
          headers: {
            ...(account === null ? bearer(key) : forReseller(key, account)),
            ...(body && { 'content-type': 'application/json' }),
          },
          ...(body && { body: JSON.stringify(body) }),
        })
    return { callAs, keys }
  }

  it('owns endpoints that operators create, list, show, change and delete', async ({ db }) => {
    const { callAs, keys } = await open(db)
    const send = callAs(keys.operator)
    const made = await send('POST', ENDPOINTS, { ...EMAIL, quietHours: QUIET })
    const path = `${ENDPOINTS}/${String(made.body.id)}`

    const refused = [
      await send('POST', ENDPOINTS, { ...EMAIL, target: 'ops@' }),
      await send('PATCH', path, { quietHours: { ...QUIET, to: 22 } }),
      await send('PATCH', path, { quietHours: { ...QUIET, zone: 'Mars' } }),
      await send('PATCH', path, { quietHours: { from: 22 } }),
      await send('PATCH', path, { digest: { ...DAILY, hour: 24 } }),
      await send('PATCH', path, { digest: { ...DAILY, type: 'weekly' } }),
    ]
    const changed = await send('PATCH', path, { quietHours: null, digest: DAILY })
    const tested = await send('POST', `${path}/test`)
    const shown = await send('GET', path)
    const listed = await send('GET', ENDPOINTS)
    const deliveries = await send('GET', '/deliveries')
    const deleted = await send('DELETE', path)

    expect(made).toMatchObject({ status: 201, body: { format: 'email', quietHours: QUIET } })
    expect(refused.map(({ status, body }) => [status, body.pointer])).toEqual([
      [400, '/target'],
      [400, '/quietHours'],
      [400, '/quietHours'],
      [400, '/quietHours/to'],
      [400, '/digest/hour'],
      [400, '/digest/type'],
    ])
    expect(changed.body).toMatchObject({ quietHours: null, digest: DAILY })
    expect(tested.status).toBe(202)
    expect(shown.body).toMatchObject({ id: made.body.id, digest: DAILY, pending: 1 })
    expect(listed.body.items).toEqual([shown.body])
    expect(deliveries.body.items).toMatchObject([
      { id: tested.body.deliveryId, type: 'webhook.test' },
    ])
    expect(deleted.status).toBe(204)
    expect((await send('GET', path)).status).toBe(404)
  })

  it('is open to no reseller, and an operator who may only read changes nothing', async ({
    db,
  }) => {
    const { callAs, keys } = await open(db)
    const { body } = await callAs(keys.operator)('POST', ENDPOINTS, EMAIL)
    const path = `${ENDPOINTS}/${String(body.id)}`
    const reseller = [callAs(keys.ana), callAs(keys.operator, 'ana')]

    for (const send of reseller) {
      expect((await send('GET', ENDPOINTS)).body.items).toEqual([])
      expect((await send('GET', '/deliveries')).body.items).toEqual([])
      for (const [method, sent] of [['GET'], ['PATCH', { enabled: false }], ['DELETE']] as const) {
        expect(await send(method, path, sent)).toMatchObject({ status: 404 })
      }
      expect((await send('POST', `${path}/test`)).status).toBe(404)
    }
    const reader = callAs(keys.reader)
    expect((await reader('GET', path)).body).toMatchObject({ id: body.id, enabled: true })
    expect((await reader('DELETE', path)).body.code).toBe('access.missing_scope')
  })

  it('has neither watches, records nor keys, and is no reseller', async ({ db }) => {
    const { callAs, keys } = await open(db)
    const send = callAs(keys.operator)
    const others = API_OPERATIONS.filter(
      ({ audience, tag }) => audience === 'resellers' && tag !== 'Webhooks',
    )

    expect(others.length).toBeGreaterThan(20)
    for (const { id, method, path, example } of others) {
      const at = path
        .replace('/api/v1', '')
        .replace(/\{(\w+)\}/g, (_, name: string) =>
          encodeURIComponent(example.params?.[name] ?? ''),
        )
      const { body } = await send(method, at, example.body as object | undefined)
      expect(body.code, id).toBe('access.resellers_only')
    }
    const name = encodeURIComponent(ACCOUNT)
    const operator = callAs(keys.operator, null)
    const refused = [
      await operator('GET', `/resellers/${name}`),
      await operator('PATCH', `/resellers/${name}`, { share: 2 }),
      await operator('POST', `/resellers/${name}/disable`),
      await operator('POST', `/resellers/${name}/delete`, { confirm: ACCOUNT }),
      await operator('POST', '/keys', { reseller: ACCOUNT }),
    ]
    expect(refused.map(({ body }) => body.code)).toEqual(Array(5).fill('not_found'))
    expect(await operator('POST', '/resellers', { name: ACCOUNT })).toMatchObject({ status: 409 })
    expect((await operator('GET', '/resellers')).body.items).toMatchObject([{ name: 'ana' }])
  })
})
