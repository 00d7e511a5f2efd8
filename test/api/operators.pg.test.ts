import { describe, expect } from 'vitest'
import { type Db, sql } from '../../src/platform/db/database.ts'
import { withSessionLock } from '../../src/platform/db/session-lock.ts'
import { createReseller } from '../../src/resellers/resellers.ts'
import { GUARD_LIMITS } from '../../src/routes/guard.ts'
import { livePairs, manyRoutes, routes, sync } from '../routes/sync-fixtures.ts'
import { type Answer, ask, bearer, newKeyText, startApi } from '../support/api-server.ts'
import { collectLog } from '../support/collected-log.ts'
import { it } from '../support/test-database.ts'
import { newReseller } from '../watches/watch-fixtures.ts'

const ALL = manyRoutes(40)

const FEW = ALL.slice(0, 10)

/** The API, called by an operator, and the lines that it logs. */
async function anOperator(db: Db) {
  const { log, lines } = collectLog()
  const base = await startApi(db, { log })
  const key = await newKeyText(db)
  const send = (method: string, path: string, body?: object): Promise<Answer> =>
    ask(`${base}/api/v1/${path}`, {
      method,
      headers: { ...bearer(key), ...(body && { 'content-type': 'application/json' }) },
      ...(body && { body: JSON.stringify(body) }),
    })
  const as = (other: string, path: string) =>
    ask(`${base}/api/v1/${path}`, { headers: bearer(other) })
  return { send, as, lines }
}

function logged(lines: readonly string[]): Record<string, unknown>[] {
  return lines.map((line) => JSON.parse(line) as Record<string, unknown>)
}

it('what answers have that the interface does not have is listed, accepted and taken back, and logged', async ({
  db,
}) => {
  await sql`insert into answer_habit (name, answers, share) values ('message', 57, 0.25)`.execute(
    db,
  )
  const { send, lines } = await anOperator(db)
  const unusual = async () =>
    (await send('GET', 'status')).body as { unusualAnswers: unknown[]; warnings: unknown[] }

  expect((await unusual()).unusualAnswers).toMatchObject([{ name: 'message', answers: 57 }])
  expect((await unusual()).warnings).toContainEqual(
    expect.objectContaining({
      code: 'answers_unusual',
      subject: 'message',
      text: '57 answers had "message", which the interface does not have: they count for no loss.',
    }),
  )
  const accepted = await send('PATCH', 'answer-habits/message', { accepted: true })
  expect(accepted.body).toMatchObject({ name: 'message', isUsual: true })
  expect((await unusual()).unusualAnswers).toEqual([])
  await send('PATCH', 'answer-habits/message', { accepted: false })

  const { body } = await send('GET', 'answer-habits')
  expect(body.items).toMatchObject([{ name: 'message', isUsual: false, acceptedAt: null }])
  const events = logged(lines).map(({ msg, name }) => [msg, name])
  expect(events).toEqual([
    ['answers accepted', 'message'],
    ['acceptance of answers taken back', 'message'],
  ])
})

describe('held runs', () => {
  it('the difference of a held run has every route that approving it would change', async ({
    db,
  }) => {
    await sync(db, routes('PMI-MAD', 'PMI-BCN', 'MAD-BCN'))
    const held = await sync(db, routes('PMI-IBZ'), { guard: { ...GUARD_LIMITS, minimum: 1 } })
    const { send } = await anOperator(db)

    const { body } = await send('GET', `held-runs/${held.runId}/difference`)

    expect(held.status).toBe('held')
    expect(body).toEqual({
      missing: { MAD: ['BCN'], PMI: ['BCN', 'MAD'] },
      added: { PMI: ['IBZ'] },
    })
  })

  it('a held run is approved once, and the log names the key', async ({ db }) => {
    await sync(db, ALL)
    const { runId } = await sync(db, FEW)
    const { send, lines } = await anOperator(db)

    const approved = await send('POST', `held-runs/${runId}/approve`)
    const again = await send('POST', `held-runs/${runId}/approve`)

    expect(approved.body).toMatchObject({ runId, status: 'approved', live: 10, removed: 30 })
    expect(await livePairs(db)).toHaveLength(10)
    expect(again.body).toMatchObject({ status: 409, code: 'sync.not_held' })
    expect(logged(lines)).toEqual([
      expect.objectContaining({
        msg: 'held run approved',
        runId,
        by: 'key 1',
        requestId: approved.headers.get('x-request-id'),
      }),
    ])
  })

  it('a decision during a running sync waits briefly and then answers sync.busy', async ({
    db,
  }) => {
    await sync(db, ALL)
    const { runId } = await sync(db, FEW)
    const { send } = await anOperator(db)

    const answer = await withSessionLock(db, 'route-sync:routes', () =>
      send('POST', `held-runs/${runId}/approve`),
    )

    expect(answer?.body).toMatchObject({ status: 503, code: 'sync.busy' })
    expect(answer?.headers.get('retry-after')).toBe('10')
    expect((await send('POST', `held-runs/${runId}/approve`)).status).toBe(200)
  })
})

describe('resellers', () => {
  it('an operator sets the share of a reseller, which is 1 before', async ({ db }) => {
    await newReseller(db, 'zephyr')
    const { send, lines } = await anOperator(db)
    const shareOf = async () => (await send('GET', 'resellers')).body.items
    const before = await shareOf()

    const changed = await send('PATCH', 'resellers/zephyr', { share: 2.5 })

    expect(before).toMatchObject([{ name: 'zephyr', share: 1 }])
    expect(changed).toMatchObject({ status: 200, body: { name: 'zephyr', share: 2.5 } })
    expect(await shareOf()).toMatchObject([{ name: 'zephyr', share: 2.5 }])
    expect(logged(lines)).toContainEqual(
      expect.objectContaining({ msg: 'reseller changed', reseller: 'zephyr', share: 2.5 }),
    )
    for (const share of [0, -1, 0.009, 1_001, 1e300, '2', null]) {
      expect(await send('PATCH', 'resellers/zephyr', { share })).toMatchObject({
        status: 400,
        body: { code: 'request.invalid_body', pointer: '/share' },
      })
    }
    expect(await send('PATCH', 'resellers/nobody', { share: 2 })).toMatchObject({
      status: 404,
      body: { code: 'not_found' },
    })
    expect(await shareOf()).toMatchObject([{ share: 2.5 }])
  })
})

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
})
