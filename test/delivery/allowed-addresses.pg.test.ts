import { expect, onTestFinished } from 'vitest'
import { createOpenTarget } from '../../src/delivery/endpoints/sealer.ts'
import { createEmailFormat } from '../../src/delivery/formats/email.ts'
import { createMailer } from '../../src/delivery/formats/mailer.ts'
import { type Db, sql } from '../../src/platform/db/database.ts'
import { migrate } from '../../src/platform/db/migrate.ts'
import { newCaller } from '../api/reseller-calls.ts'
import { createEmptyDatabase, openAnother } from '../platform/db/empty-database.ts'
import { ask, bearer, newKeyText, startApi, TEST_SEALER } from '../support/api-server.ts'
import { startSmtpServer } from '../support/smtp-server.ts'
import { it } from '../support/test-database.ts'
import { startDispatcher } from './delivery-fixtures.ts'

const ADDRESS = 'ana@agency.example'
const ENDPOINTS = '/webhook-endpoints'

/** The API, a mail server, and what a worker does, with e-mail set up. */
async function fixture(db: Db) {
  const server = await startSmtpServer()
  onTestFinished(() => server.close())
  const email = { smtpUrl: `smtp://127.0.0.1:${server.port}`, from: 'fares@seller.example' }
  const mailer = createMailer({ ...email, scrub: (line) => line })
  const base = await startApi(db, { email })
  const dispatcher = startDispatcher(db, {
    formats: [createEmailFormat({ mailer, limit: async () => 0 })],
    openTarget: createOpenTarget(TEST_SEALER),
  })
  const key = await newKeyText(db, { resellerId: null, scopes: ['operate'] })
  const operate = (method: string, path: string, body?: object) =>
    ask(`${base}/api/v1/resellers/${path}`, {
      method,
      headers: { ...bearer(key), ...(body && { 'content-type': 'application/json' }) },
      ...(body && { body: JSON.stringify(body) }),
    })
  return {
    ...{ server, dispatcher, operate },
    callerOf: (name: string) => newCaller(db, base, name),
    allow: (name: string, address = ADDRESS) => operate('PUT', `${name}/addresses`, { address }),
    disallow: (name: string, address = ADDRESS) =>
      operate('POST', `${name}/addresses/disallow`, { address }),
  }
}

const REFUSED = { status: 409, body: { code: 'delivery.address_not_allowed' } }

// Fault: A reseller names an address that is not its own. It is refused unless an operator has allowed it.
it('a reseller cannot send to an address that is not allowed to it, by a new endpoint, by a changed or by an enabled one', async ({
  db,
}) => {
  const { server, dispatcher, callerOf, allow } = await fixture(db)
  const [own, other] = [await callerOf('northwind'), await callerOf('other')]
  await allow('other')
  const made = (target: string, more = {}) =>
    own.send('POST', ENDPOINTS, { format: 'email', target, ...more })

  expect(await made(ADDRESS)).toMatchObject(REFUSED)
  expect(await made(ADDRESS, { enabled: false })).toMatchObject(REFUSED)
  await allow('northwind', 'Bob@agency.example')
  const { id } = (await made('bob@AGENCY.example')).body
  const path = `${ENDPOINTS}/${id}`
  for (const body of [{ target: ADDRESS }, { target: ADDRESS, enabled: false }]) {
    expect(await own.send('PATCH', path, body)).toMatchObject(REFUSED)
  }
  expect(await own.send('PATCH', path, { enabled: false })).toMatchObject({ status: 200 })
  await sql`delete from allowed_address where shown = 'B…@agency.example'`.execute(db)
  expect(await own.send('PATCH', path, { enabled: true })).toMatchObject(REFUSED)
  expect(await own.send('POST', `${path}/test`)).toMatchObject({ status: 409 })
  await dispatcher.dispatch()

  expect(server.mails).toEqual([])
  expect((await own.get(ENDPOINTS)).body.items).toHaveLength(1)
  expect((await own.get('/own-addresses')).body.items).toEqual([])
  expect((await other.get('/own-addresses')).body.items).toMatchObject([
    { address: 'a…@agency.example' },
  ])
  expect(
    await own.send('PUT', '/resellers/northwind/addresses', { address: ADDRESS }),
  ).toMatchObject({ status: 403 })
})

// Fault: An address that the operator no longer allows.
it('nothing is sent to an address that was disallowed while a message waits, and the message is sent when it is allowed again', async ({
  db,
}) => {
  const { server, dispatcher, callerOf, allow, disallow } = await fixture(db)
  const { send, get } = await callerOf('northwind')
  await allow('northwind')
  const { id } = (await send('POST', ENDPOINTS, { format: 'email', target: ADDRESS })).body
  const { id: webhook } = (await send('POST', ENDPOINTS, { target: 'https://a.example/' })).body
  const path = `${ENDPOINTS}/${id}`
  // The first attempt fails, so the message waits for its second one.
  server.steps.DATA = '451 4.3.0 later'
  await send('POST', `${path}/test`)
  await dispatcher.dispatch()
  await dispatcher.recorded(1)
  server.steps.DATA = undefined

  expect(await disallow('northwind', ADDRESS.toUpperCase())).toMatchObject({ status: 204 })
  await sql`update delivery set due_at = now() where endpoint_id = ${id}`.execute(db)
  await dispatcher.dispatch()
  expect(server.mails).toEqual([])
  expect((await get(path)).body).toMatchObject({ disabledReason: 'not_allowed', pending: 1 })
  expect((await send('POST', `${path}/retry`)).body).toMatchObject({
    code: 'delivery.endpoint_disabled',
    detail: expect.stringContaining('does not allow'),
  })
  const { rows } = await sql`
    select payload ->> 'reason' as reason from delivery where endpoint_id = ${webhook} and type = 'webhook.disabled'
  `.execute(db)
  expect(rows).toEqual([{ reason: 'not_allowed' }])

  await allow('northwind')
  expect((await get(path)).body).toMatchObject({ enabled: true, disabledReason: null })
  await dispatcher.dispatch()
  await dispatcher.recorded(2)
  expect(server.mails.map(({ to }) => to)).toEqual([[ADDRESS]])
})

it('an operator is refused to allow what is not one e-mail address', async ({ db }) => {
  const { callerOf, allow, operate } = await fixture(db)
  await callerOf('northwind')

  for (const address of ['Ana <ana@agency.example>', 'ana@agency.example, x@evil.example']) {
    expect(await allow('northwind', address)).toMatchObject({
      status: 400,
      body: { pointer: '/address', detail: expect.stringContaining('one e-mail address') },
    })
  }
  expect((await operate('GET', 'northwind/addresses')).body.items).toEqual([])
})

it('an upgrade keeps the addresses that their owners confirmed, and no others', async () => {
  const { db } = openAnother(await createEmptyDatabase())
  await migrate(db, { last: '0042_sites_and_passenger_prices' })
  await sql`insert into reseller (name) values ('northwind')`.execute(db)
  await sql`
    insert into email_address (reseller_id, address_hash, shown, state)
    select 1, sha256(state::bytea), state, state from unnest('{confirmed,unconfirmed,unsubscribed}'::text[]) state
  `.execute(db)
  await sql`
    insert into webhook_endpoint (reseller_id, format, target, target_shown, cursor_seq, target_hash, disabled_at, disabled_reason)
    select 1, 'email', 'x', state, 0, address_hash, case when state <> 'confirmed' then now() end, nullif(state, 'confirmed')
      from email_address
  `.execute(db)
  await sql`
    insert into delivery (endpoint_id, type, payload, recorded_at)
    select id, 'webhook.disabled', '{"reason": "unsubscribed"}', now() from webhook_endpoint where disabled_at is null
  `.execute(db)

  await migrate(db)

  const allowed = await sql`select shown from allowed_address`.execute(db)
  const endpoints = await sql`
    select target_shown, disabled_reason from webhook_endpoint order by target_shown
  `.execute(db)
  const notices = await sql`select payload ->> 'reason' as reason from delivery`.execute(db)
  expect(allowed.rows).toEqual([{ shown: 'confirmed' }])
  expect(endpoints.rows).toEqual([
    { target_shown: 'confirmed', disabled_reason: null },
    { target_shown: 'unconfirmed', disabled_reason: 'not_allowed' },
    { target_shown: 'unsubscribed', disabled_reason: 'not_allowed' },
  ])
  expect(notices.rows).toEqual([{ reason: 'not_allowed' }])
})
