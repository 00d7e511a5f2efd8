import { expect } from 'vitest'
import {
  assertEncryptionKey,
  createOpenTarget,
  createSealer,
  resealEndpoints,
  WrongEncryptionKeyError,
} from '../../src/delivery/endpoints/sealer.ts'
import { type Db, sql } from '../../src/platform/db/database.ts'
import { itemsOf, newCaller } from '../api/reseller-calls.ts'
import { it, ownCaller } from '../api/shared-api.ts'
import { ask, newKeyText, startApi, TEST_SEALER } from '../support/api-server.ts'

const URL = 'https://receiver.example/hooks/CANARY-PATH?token=CANARY-QUERY'
const ENDPOINTS = '/webhook-endpoints'

async function sealedRow(db: Db, id: string) {
  const { rows } = await sql<{
    id: string
    target: Buffer
    secret: Buffer
    headers: Buffer | null
    template: null
    previousSecrets: Buffer[]
    cursor: number
  }>`
    select id, target, secret, headers, template, cursor_seq as cursor,
           array(select secret from previous_secret where endpoint_id = ${id} order by signs_until desc) as "previousSecrets"
      from webhook_endpoint where id = ${id}
  `.execute(db)
  const [row] = rows
  if (row === undefined) throw new Error('there is no such endpoint')
  return row
}

it('an endpoint is created, changed, tested, rotated and deleted, and shows its secret only when it is made', async ({
  db,
}) => {
  const base = await startApi(db)
  const { send, get } = await newCaller(db, base, 'northwind')

  const made = await send('POST', ENDPOINTS, {
    target: URL,
    kinds: ['became_available'],
    rules: { priceBelow: { amount: '99.50', currency: 'EUR' } },
  })
  const id = String(made.body.id)
  const path = `${ENDPOINTS}/${id}`
  const changed = await send('PATCH', path, { kinds: null, lists: ['summer'], enabled: false })
  const disabled = await send('POST', `${path}/test`)
  const enabled = await send('PATCH', path, { enabled: true })
  const tested = await send('POST', `${path}/test`)
  const rotated = await send('POST', `${path}/rotate-secret`)
  const shown = await get(path)
  const all = await get(ENDPOINTS)
  const row = await sealedRow(db, id)
  const deleted = await send('DELETE', path)

  expect(made.status).toBe(201)
  expect(made.body).toMatchObject({
    target: 'receiver.example/…UERY',
    format: 'webhook',
    enabled: true,
    kinds: ['became_available'],
    secret: expect.stringMatching(/^whsec_[\w+/]{43}=$/) as string,
  })
  expect(changed.body).toMatchObject({
    kinds: null,
    lists: ['summer'],
    rules: { priceBelow: { amount: '99.50', currency: 'EUR' } },
    enabled: false,
    disabledReason: 'paused',
  })
  expect(disabled.body).toMatchObject({ code: 'delivery.endpoint_disabled' })
  expect(enabled.body).toMatchObject({ enabled: true, disabledReason: null, disabledAt: null })
  expect(tested.status).toBe(202)
  expect(shown.body).toMatchObject({ pending: 1, dead: 0 })
  expect(shown.body).not.toHaveProperty('secret')
  expect(all.body).toEqual({ items: [shown.body], next: null })
  expect(createOpenTarget(TEST_SEALER)(row)).toEqual({
    endpointId: id,
    address: URL,
    secrets: [rotated.body.secret, made.body.secret],
    headers: {},
    template: null,
  })
  const untilMs = Date.parse(String(rotated.body.previousSecretUntil)) - Date.now()
  expect(untilMs / 3_600_000).toBeCloseTo(24, 0)
  expect(deleted.status).toBe(204)
  expect((await get(path)).status).toBe(404)
})

it('an operator lists the endpoints of all resellers, by pages', async ({ db }) => {
  const base = await startApi(db)
  const made = []
  for (const name of ['northwind', 'southwind']) {
    const { send } = await newCaller(db, base, name)
    made.push((await send('POST', ENDPOINTS, { target: URL })).body.id)
  }
  const authorization = `Bearer ${await newKeyText(db, { scopes: ['operate'] })}`
  const page = (query: string) =>
    ask(`${base}/api/v1/all-webhook-endpoints?${query}`, { headers: { authorization } })

  const first = await page('limit=1')
  const second = await page(`limit=1&cursor=${String(first.body.next)}`)

  expect([...itemsOf(first), ...itemsOf(second)]).toMatchObject([
    { id: made[0], reseller: 'northwind' },
    { id: made[1], reseller: 'southwind' },
  ])
  expect(second.body.next).toBeNull()
})

it('all faults of an endpoint are reported, also those that no schema says', async ({ api }) => {
  const { send } = await ownCaller(api)
  const quietHours = { from: 1, to: 1, zone: 'UTC' }
  const wrong = {
    target: 'http://a.example/',
    lists: ['..'],
    digest: { type: 'interval', every: '1h' },
  }

  const { body } = await send('POST', ENDPOINTS, { ...wrong, quietHours })

  expect(body.errors).toMatchObject([
    { pointer: '/target' },
    { pointer: '/digest' },
    { pointer: '/quietHours' },
    { pointer: '/lists' },
  ])
})

it('a reseller has at most 20 endpoints, also if it creates several at once', async ({ api }) => {
  const { send } = await ownCaller(api)

  const made = await Promise.all(
    Array.from({ length: 23 }, () => send('POST', ENDPOINTS, { target: URL })),
  )

  const refused = made.filter(({ status }) => status === 409)
  expect(made.filter(({ status }) => status === 201)).toHaveLength(20)
  expect(refused.map(({ body }) => body.code)).toEqual(Array(3).fill('quota.endpoints'))
})

// Fault: A process is started with another ENCRYPTION_KEY.
it('a wrong key is refused at the start, and a former key opens endpoints until they are resealed', async ({
  db,
}) => {
  const { send } = await newCaller(db, await startApi(db), 'northwind')
  const wrong = createSealer('another encryption key')
  await assertEncryptionKey(db, wrong)
  const { id, secret } = (await send('POST', ENDPOINTS, { target: URL })).body
  await send('POST', `${ENDPOINTS}/${id}/rotate-secret`)
  const both = createSealer('another encryption key', 'the encryption key of the tests')

  await expect(assertEncryptionKey(db, wrong)).rejects.toThrow(WrongEncryptionKeyError)
  await expect(assertEncryptionKey(db, createSealer(undefined))).rejects.toThrow(/ENCRYPTION_KEY/)
  await assertEncryptionKey(db, both)
  const resealed = [await resealEndpoints(db, both), await resealEndpoints(db, both)]
  await assertEncryptionKey(db, wrong)

  expect(resealed).toEqual([1, 0])
  const opened = createOpenTarget(wrong)(await sealedRow(db, String(id)))
  expect(opened).toMatchObject({ address: URL, secrets: [expect.any(String), secret] })
})

it('headers of an endpoint are kept encrypted and shown by their names alone', async ({ api }) => {
  const { send, get } = await ownCaller(api)
  const headers = { Authorization: 'Bearer CANARY-TOKEN', 'x-desk': 'fares' }

  const made = await send('POST', ENDPOINTS, { target: URL, headers })
  const path = `${ENDPOINTS}/${made.body.id}`
  const row = await sealedRow(api.db, String(made.body.id))
  const kept = await send('PATCH', path, { description: 'desk' })
  const removed = await send('PATCH', path, { headers: null })

  expect(made.body.headerNames).toEqual(['authorization', 'x-desk'])
  expect(createOpenTarget(TEST_SEALER)(row).headers).toEqual({
    authorization: 'Bearer CANARY-TOKEN',
    'x-desk': 'fares',
  })
  expect(kept.body.headerNames).toEqual(['authorization', 'x-desk'])
  expect(removed.body.headerNames).toEqual([])
  expect(JSON.stringify([made, kept, removed, await get(ENDPOINTS)])).not.toContain('CANARY-TOKEN')
})

const WRONG = [
  ['headers', { headers: { Host: 'a' } }, 'must not have host, which farewatch sets'],
  ['headers', { headers: { 'Webhook-Id': 'a' } }, 'must not have webhook-id'],
  ['headers', { headers: { 'X-A': 'a', 'x-a': 'b' } }, 'must name each header once'],
  ['template', { format: 'json' }, 'must be given for json'],
  ['template', { template: { a: 'b' } }, 'is for json only'],
] as const

it('an endpoint with a wrong setting is refused, with its place', async ({ api }) => {
  const { send, get } = await ownCaller(api)

  for (const [field, given, fault] of WRONG) {
    const { status, body } = await send('POST', ENDPOINTS, { target: URL, ...given })

    expect([status, body.code, body.pointer]).toEqual([400, 'request.invalid_body', `/${field}`])
    expect(body.detail).toContain(fault)
  }
  expect((await get(ENDPOINTS)).body.items).toEqual([])
})
