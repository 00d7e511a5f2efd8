import { describe, expect } from 'vitest'
import { type Db, sql } from '../../src/platform/db/database.ts'
import { withSessionLock } from '../../src/platform/db/session-lock.ts'
import { createReseller } from '../../src/resellers/resellers.ts'
import { GUARD_LIMITS } from '../../src/routes/guard.ts'
import { livePairs, manyRoutes, routes, sync } from '../routes/sync-fixtures.ts'
import { newKeyText, startApi } from '../support/api-server.ts'
import { collectLog } from '../support/collected-log.ts'
import { it } from '../support/test-database.ts'
import { newReseller } from '../watches/watch-fixtures.ts'
import { callsOf } from './reseller-calls.ts'

const ALL = manyRoutes(40)

const FEW = ALL.slice(0, 10)

/** The API, called by an operator, and the lines that it logs. */
async function anOperator(db: Db) {
  const { log, lines } = collectLog()
  const base = await startApi(db, { log })
  return { base, lines, ...callsOf(base, await newKeyText(db)) }
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
  const { get, send, lines } = await anOperator(db)
  const unusual = async () =>
    (await get('/status')).body as { unusualAnswers: unknown[]; warnings: unknown[] }

  expect((await unusual()).unusualAnswers).toMatchObject([{ name: 'message', answers: 57 }])
  expect((await unusual()).warnings).toContainEqual(
    expect.objectContaining({
      code: 'answers_unusual',
      subject: 'message',
      text: '57 answers had "message", which the interface does not have: they count for no loss.',
    }),
  )
  const accepted = await send('PATCH', '/answer-habits/message', { accepted: true })
  expect(accepted.body).toMatchObject({ name: 'message', isUsual: true })
  expect((await unusual()).unusualAnswers).toEqual([])
  await send('PATCH', '/answer-habits/message', { accepted: false })

  const { body } = await get('/answer-habits')
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
    const { get } = await anOperator(db)

    const { body } = await get(`/held-runs/${held.runId}/difference`)

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

    const approved = await send('POST', `/held-runs/${runId}/approve`)
    const again = await send('POST', `/held-runs/${runId}/approve`)

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
      send('POST', `/held-runs/${runId}/approve`),
    )

    expect(answer?.body).toMatchObject({ status: 503, code: 'sync.busy' })
    expect(answer?.headers.get('retry-after')).toBe('10')
    expect((await send('POST', `/held-runs/${runId}/approve`)).status).toBe(200)
  })
})

it('an operator sets the share of a reseller, which is 1 before', async ({ db }) => {
  await newReseller(db, 'zephyr')
  const { play, lines } = await anOperator(db)
  const shown = (share: number) => ({ items: [{ name: 'zephyr', share }] })
  const PATCH = 'PATCH /resellers/zephyr'
  const refused = { status: 400, code: 'request.invalid_body', pointer: '/share' }
  await play(
    ['GET /resellers', undefined, shown(1)],
    [PATCH, { share: 2.5 }, { name: 'zephyr', share: 2.5 }],
    ...[0, -1, 0.009, 1_001, 1e300, '2', null].map((share) => [PATCH, { share }, refused] as const),
    ['PATCH /resellers/unknown', { share: 2 }, { status: 404, code: 'not_found' }],
    ['GET /resellers', undefined, shown(2.5)],
  )
  expect(logged(lines)).toMatchObject([{ msg: 'reseller changed', reseller: 'zephyr', share: 2.5 }])
})

/** Calls for an account with a key. */
function callsFor(base: string, key: string, name: string) {
  const { send } = callsOf(base, key)
  return (method: string, path: string, body?: object) =>
    send(method, path, body, { 'farewatch-reseller': encodeURIComponent(name) })
}

it('an operator that calls for a reseller is that reseller, with the scopes of its own key', async ({
  db,
}) => {
  const { base, key, get } = await anOperator(db)
  await createReseller(db, 'Ana Süd')
  const ben = await createReseller(db, 'ben')
  const reader = callsFor(base, await newKeyText(db, { scopes: ['read'] }), 'Ana Süd')
  const own = callsFor(base, await newKeyText(db, { resellerId: ben.id }), 'Ana Süd')
  const LISTS = '/watch-lists'
  const summer = { name: 'summer' }
  const made = await callsFor(base, key, 'Ana Süd')('POST', LISTS, summer)
  const refused = await reader('POST', LISTS, summer)
  const unknown = await callsFor(base, key, 'unknown')('POST', LISTS, summer)
  expect(made.status).toBe(201)
  expect(refused).toMatchObject({ status: 403, body: { code: 'access.missing_scope' } })
  expect(unknown).toMatchObject({ status: 404, body: { code: 'not_found', missing: 'reseller' } })
  expect((await reader('GET', LISTS)).body).toMatchObject({ items: [summer] })
  expect((await callsFor(base, key, 'ben')('GET', LISTS)).body).toMatchObject({ items: [] })
  // The key of a reseller calls for itself, whatever the header says.
  expect((await own('GET', LISTS)).body).toMatchObject({ items: [] })
  expect((await get(LISTS)).body).toMatchObject({ code: 'access.resellers_only' })
})

it('the account of operators owns endpoints that they create, list, show, change and delete', async ({
  db,
}) => {
  const base = await startApi(db, {
    email: { smtpUrl: 'smtp://mail.example', from: 'fares@seller.example' },
  })
  const send = callsFor(base, await newKeyText(db), '(operators)')
  const ENDPOINTS = '/webhook-endpoints'
  const email = { format: 'email', target: 'ops@seller.example' }
  const quietHours = { from: 22, to: 7, zone: 'Europe/Madrid' }
  const digest = { type: 'daily', hour: 7, zone: 'Europe/Madrid' }
  const made = await send('POST', ENDPOINTS, { ...email, quietHours })
  const path = `${ENDPOINTS}/${String(made.body.id)}`
  expect(made).toMatchObject({ status: 201, body: { format: 'email', quietHours } })
  for (const [body, pointer] of [
    [{ quietHours: { ...quietHours, to: 22 } }, '/quietHours'],
    [{ quietHours: { ...quietHours, zone: 'Mars' } }, '/quietHours'],
    [{ quietHours: { from: 22 } }, '/quietHours/to'],
    [{ digest: { ...digest, hour: 24 } }, '/digest/hour'],
    [{ digest: { ...digest, type: 'weekly' } }, '/digest/type'],
  ] as const) {
    expect(await send('PATCH', path, body)).toMatchObject({ status: 400, body: { pointer } })
  }
  const changed = await send('PATCH', path, { quietHours: null, digest })
  const tested = await send('POST', `${path}/test`)
  const shown = await send('GET', path)
  expect(changed.body).toMatchObject({ quietHours: null, digest })
  expect(shown.body).toMatchObject({ id: made.body.id, digest, pending: 1 })
  expect((await send('GET', ENDPOINTS)).body.items).toEqual([shown.body])
  expect((await send('GET', '/deliveries')).body.items).toMatchObject([
    { id: tested.body.deliveryId, type: 'webhook.test' },
  ])
  expect((await send('DELETE', path)).status).toBe(204)
  expect((await send('GET', path)).status).toBe(404)
})
