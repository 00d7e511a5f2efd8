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
import { ask, newKeyText, startApi, TEST_SEALER } from '../support/api-server.ts'
import { collectLog } from '../support/collected-log.ts'
import { it } from '../support/test-database.ts'
import { addEndpoint } from './delivery-fixtures.ts'

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

const INVALID: readonly (readonly [body: object, pointer: string | undefined])[] = [
  [{ target: 'http://receiver.example/' }, '/target'],
  [{ target: 'https://127.0.0.1/' }, '/target'],
  [{ target: 'https://user:pass@receiver.example/' }, '/target'],
  [{ target: 'ops@agency.example', format: 'email' }, '/target'],
  [{ target: 'https://receiver.example/', format: 'slack' }, '/target'],
  [{ target: URL, digest: { type: 'interval', every: '1h' } }, '/digest'],
  [{ target: URL, digest: { every: '1h' } }, '/digest/type'],
  [{ target: URL, digest: { type: 'interval', every: '5m' } }, '/digest/every'],
  [{ target: URL, digest: { type: 'daily', hour: 24, zone: 'UTC' } }, '/digest/hour'],
  [{ target: URL, kinds: [] }, '/kinds'],
  [{ target: URL, kinds: ['sold_out'] }, '/kinds/0'],
  [{ target: URL, kinds: ['first_seen'] }, '/kinds/0'],
  [{ target: URL, reasons: ['sold'] }, '/reasons/0'],
  [{ target: URL, lists: ['..'] }, '/lists'],
  [{ target: URL, rules: {} }, '/rules'],
  [{ target: URL, rules: { soldOut: false } }, '/rules/soldOut'],
  [
    { target: URL, rules: { priceBelow: { amount: '-1', currency: 'EUR' } } },
    '/rules/priceBelow/amount',
  ],
  [
    { target: URL, rules: { priceBelow: { amount: '1', currency: 'eur' } } },
    '/rules/priceBelow/currency',
  ],
  [{ target: URL, description: 'a\nb' }, '/description'],
  [{ target: URL, secret: 'whsec_eA==' }, '/secret'],
  [{}, '/target'],
]

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

it('all faults of an endpoint are reported, also those that no schema says', async ({ db }) => {
  const { send } = await newCaller(db, await startApi(db), 'northwind')
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

it('an invalid endpoint is refused, and the problem points at its fault', async ({ db }) => {
  const { send } = await newCaller(db, await startApi(db), 'northwind')

  for (const [body, pointer] of INVALID) {
    const refused = await send('POST', ENDPOINTS, body)

    expect(refused.body, refused.text).toMatchObject({ code: 'request.invalid_body', pointer })
    expect(refused.text).not.toContain('CANARY')
  }
})

it('a reseller has at most 20 endpoints, also if it creates several at once', async ({ db }) => {
  const { send } = await newCaller(db, await startApi(db), 'northwind')

  const made = await Promise.all(
    Array.from({ length: 23 }, () => send('POST', ENDPOINTS, { target: URL })),
  )

  const refused = made.filter(({ status }) => status === 409)
  expect(made.filter(({ status }) => status === 201)).toHaveLength(20)
  expect(refused.map(({ body }) => body.code)).toEqual(Array(3).fill('quota.endpoints'))
})

it('one list has the deliveries of all endpoints by pages, and those of an endpoint or a state', async ({
  db,
}) => {
  const { get, send } = await newCaller(db, await startApi(db), 'northwind')
  const sent: unknown[] = []
  const endpoints: unknown[] = []
  for (const target of [URL, `${URL}/2`]) {
    const { id } = (await send('POST', ENDPOINTS, { target })).body
    endpoints.push(id)
    for (let i = 0; i < 2; i += 1) {
      sent.push((await send('POST', `${ENDPOINTS}/${String(id)}/test`)).body.deliveryId)
    }
  }
  await sql`
    update delivery set state = 'dead', due_at = null, ended_at = clock_timestamp(), dead_reason = 'blocked'
     where id = ${sent[3]}
  `.execute(db)
  const idsOf = async (query: string) =>
    itemsOf<{ id: string }>(await get(`/deliveries?${query}`)).map(({ id }) => id)

  const { next } = (await get('/deliveries?limit=3')).body

  expect(await idsOf('limit=3')).toEqual([sent[3], sent[2], sent[1]])
  expect(await idsOf(`limit=3&cursor=${String(next)}`)).toEqual([sent[0]])
  expect(await idsOf('state=dead')).toEqual([sent[3]])
  expect(await idsOf(`endpoint=${String(endpoints[1])}&state=pending,delivered`)).toEqual([sent[2]])
  expect((await get(`/deliveries?state=dead&cursor=${String(next)}`)).body).toMatchObject({
    code: 'request.invalid_cursor',
  })
})

it('the endpoints and deliveries of another reseller do not exist', async ({ db }) => {
  const base = await startApi(db)
  const own = await newCaller(db, base, 'northwind')
  const other = await newCaller(db, base, 'other')
  const { id } = (await own.send('POST', ENDPOINTS, { target: URL })).body
  const { deliveryId } = (await own.send('POST', `${ENDPOINTS}/${id}/test`)).body
  const path = `${ENDPOINTS}/${id}`

  const answers = [
    await other.get(path),
    await other.send('PATCH', path, { enabled: false }),
    await other.send('DELETE', path),
    await other.send('POST', `${path}/rotate-secret`),
    await other.send('POST', `${path}/test`),
    await other.get(`/deliveries?endpoint=${id}`),
    await other.get(`/deliveries/${deliveryId}`),
    await other.send('POST', `/deliveries/${deliveryId}/retry`),
    await other.send('POST', `${path}/replay`, { from: 1, to: 9 }),
  ]

  expect(answers.map(({ status }) => status)).toEqual(Array(9).fill(404))
  for (const list of [ENDPOINTS, '/deliveries']) {
    expect(itemsOf(await other.get(list))).toEqual([])
  }
  expect((await own.get(path)).body).toMatchObject({ enabled: true, pending: 1 })
})

it('without ENCRYPTION_KEY no endpoint is made', async ({ db }) => {
  const base = await startApi(db, { sealer: createSealer(undefined) })
  const { send } = await newCaller(db, base, 'northwind')

  const refused = await send('POST', ENDPOINTS, { target: URL })

  expect(refused.status).toBe(503)
  expect(refused.body).toMatchObject({ code: 'delivery.no_encryption_key' })
})

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

it('the URL and the secret of an endpoint are in no log line, no table and no other answer', async ({
  db,
}) => {
  const { log, lines } = collectLog('trace')
  const { send, get } = await newCaller(db, await startApi(db, { log }), 'northwind')

  const { id, secret } = (await send('POST', ENDPOINTS, { target: URL })).body
  const path = `${ENDPOINTS}/${id}`
  const answers = [
    await send('PATCH', path, { target: `${URL}&more=CANARY-MORE` }),
    await send('POST', ENDPOINTS, { target: `${URL}#CANARY-PART` }),
    await send('POST', ENDPOINTS, { target: URL, kinds: ['CANARY-KIND'] }),
    await get(ENDPOINTS),
    await get(path),
    await send('POST', `${path}/test`),
  ]

  const { rows } = await sql<{ row: string }>`
    select to_jsonb(e)::text as row from webhook_endpoint e union all select to_jsonb(d)::text from delivery d
  `.execute(db)
  const hex = (text: string) => Buffer.from(text).toString('hex')
  const key = String(secret).slice('whsec_'.length)
  const all = [...lines, ...answers.map(({ text }) => text), ...rows.map(({ row }) => row)].join()
  expect(rows).toHaveLength(2)
  for (const text of ['CANARY', hex('CANARY'), key, hex(key)]) expect(all).not.toContain(text)
})

it('counts what waits for an endpoint up to 10,000, and names the oldest of all', async ({
  db,
}) => {
  const { resellerId, get } = await newCaller(db, await startApi(db), 'northwind')
  const id = await addEndpoint(db, resellerId)
  const oldest = new Date('2026-01-31T12:00:00Z')
  await sql`
    insert into delivery (endpoint_id, seq, previous_seq, recorded_at)
    select ${id}, n, n - 1, case when n = 10500 then ${oldest}::timestamptz else clock_timestamp() end
      from generate_series(1, 10500) n
  `.execute(db)

  expect((await get(ENDPOINTS)).body).toMatchObject({
    items: [{ id, pending: 10_000, oldestPendingAt: oldest.toISOString() }],
  })
})

it('headers of an endpoint are kept encrypted and shown by their names alone', async ({ db }) => {
  const base = await startApi(db)
  const { send, get } = await newCaller(db, base, 'northwind')
  const headers = { Authorization: 'Bearer CANARY-TOKEN', 'x-desk': 'fares' }

  const made = await send('POST', ENDPOINTS, { target: URL, headers })
  const path = `${ENDPOINTS}/${made.body.id}`
  const row = await sealedRow(db, String(made.body.id))
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

it.for([
  ['headers', { headers: { Host: 'a' } }, 'must not have host, which farewatch sets'],
  ['headers', { headers: { 'Webhook-Id': 'a' } }, 'must not have webhook-id'],
  ['headers', { headers: { 'X-A': 'a', 'x-a': 'b' } }, 'must name each header once'],
  ['template', { format: 'json' }, 'must be given for json'],
  ['template', { template: { a: 'b' } }, 'is for json only'],
  ['template', { format: 'json', template: { a: '{price}' } }, 'has no field {price}'],
  [
    'digest',
    { digest: { type: 'interval', every: '15m' } },
    'is for slack, teams, discord, telegram, ntfy, email only',
  ],
  ['target', { format: 'telegram' }, 'must be the URL of an incoming webhook at api.telegram.org'],
] as const)('an endpoint with a wrong %s is refused: %o', async ([field, given, fault], { db }) => {
  const base = await startApi(db)
  const { send, get } = await newCaller(db, base, 'northwind')

  const { status, body } = await send('POST', ENDPOINTS, { target: URL, ...given })

  expect([status, body.code]).toEqual([400, 'request.invalid_body'])
  expect(body.pointer).toBe(`/${field}`)
  expect(body.detail).toContain(fault)
  expect((await get(ENDPOINTS)).body.items).toEqual([])
})

it('a header with a line end, or too many, is refused before anything is stored', async ({
  db,
}) => {
  const base = await startApi(db)
  const { send } = await newCaller(db, base, 'northwind')
  const many = Object.fromEntries(Array.from({ length: 11 }, (_, i) => [`x-${i}`, 'a']))

  for (const headers of [{ 'x-a': 'b\r\nx-b: c' }, { 'x a': 'b' }, many]) {
    expect((await send('POST', ENDPOINTS, { target: URL, headers })).status).toBe(400)
  }
})

it('the template of an endpoint is changed, and goes with no other format', async ({ db }) => {
  const base = await startApi(db)
  const { send } = await newCaller(db, base, 'northwind')
  const template = { text: '{sentence}' }

  const made = await send('POST', ENDPOINTS, { target: URL, format: 'json', template })
  const path = `${ENDPOINTS}/${made.body.id}`
  const changed = await send('PATCH', path, { template: { note: '{kind}' } })
  const emptied = await send('PATCH', path, { template: null })

  expect(made.body).toMatchObject({ format: 'json', template, secret: null })
  expect(changed.body.template).toEqual({ note: '{kind}' })
  expect(emptied.body).toMatchObject({ pointer: '/template', code: 'request.invalid_body' })
})
