import { request } from 'node:http'
import { text } from 'node:stream/consumers'
import { expect, onTestFinished } from 'vitest'
import { sendConfirmations } from '../../src/delivery/dispatch/send-confirmations.ts'
import { createUnsubscribeLinks } from '../../src/delivery/endpoints/address-links.ts'
import { adoptTargets } from '../../src/delivery/endpoints/addresses.ts'
import { createOpenTarget } from '../../src/delivery/endpoints/sealer.ts'
import { createEmailFormat } from '../../src/delivery/formats/email.ts'
import { createMailer } from '../../src/delivery/formats/mailer.ts'
import { type Db, sql } from '../../src/platform/db/database.ts'
import { inTransaction } from '../../src/platform/db/transaction.ts'
import { newCaller } from '../api/reseller-calls.ts'
import { untilWaiting } from '../platform/db/sessions.ts'
import { PUBLIC_URL, startApi, TEST_SEALER } from '../support/api-server.ts'
import { type ReceivedMail, startSmtpServer } from '../support/smtp-server.ts'
import { it } from '../support/test-database.ts'
import { startDispatcher } from './delivery-fixtures.ts'

const ADDRESS = 'ana@agency.example'
const ENDPOINTS = '/webhook-endpoints'
const NEVER = new AbortController().signal

/** The API, a mail server, and what a worker does, with e-mail set up. */
async function fixture(db: Db) {
  const server = await startSmtpServer()
  onTestFinished(() => server.close())
  const email = {
    smtpUrl: `smtp://127.0.0.1:${server.port}`,
    from: 'fares@seller.example',
    allowed: ['agency.example'],
  }
  const mailer = createMailer({ ...email, scrub: (line) => line })
  const unsubscribeUrl = createUnsubscribeLinks(db, { sealer: TEST_SEALER, publicUrl: PUBLIC_URL })
  const base = await startApi(db, { email })
  const deps = {
    ...{ db, sealer: TEST_SEALER, mailer, publicUrl: PUBLIC_URL, unsubscribeUrl },
    random: () => 0.5,
  }
  const dispatcher = startDispatcher(db, {
    formats: [createEmailFormat({ mailer, limit: async () => 0, unsubscribeUrl })],
    openTarget: createOpenTarget(TEST_SEALER),
  })
  return {
    ...{ base, server, dispatcher },
    sendRequested: () => sendConfirmations(deps, NEVER),
    callerOf: (name: string) => newCaller(db, base, name),
  }
}

/** The text of an e-mail with its headers, as a mail program shows it. */
function shown(mail: ReceivedMail | undefined): string {
  return (mail?.raw ?? '').replaceAll('=\r\n', '').replaceAll(/\r\n[ \t]+/g, ' ')
}

/** The path of the link in an e-mail. The test server is not at the public address. */
function linkIn(mail: ReceivedMail | undefined, purpose: 'confirm' | 'unsubscribe'): string {
  const link = new RegExp(`${PUBLIC_URL}(/api/v1/email/${purpose}/[\\w-]{24})(?![\\w-])`).exec(
    shown(mail),
  )
  return link?.[1] ?? 'no link'
}

interface Visit {
  readonly status: number
  readonly text: string
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
}

/** A request of a browser, or of a program of mail. */
async function visit(
  base: string,
  path: string,
  { method = 'GET', body, headers = {} }: { method?: string; body?: string; headers?: object } = {},
): Promise<Visit> {
  const { promise, resolve, reject } = Promise.withResolvers<Visit>()
  const sent = request(
    `${base}${path}`,
    { method, headers: { accept: 'text/html,*/*', ...headers } },
    (answer) => {
      text(answer).then(
        (page) => resolve({ status: answer.statusCode ?? 0, text: page, headers: answer.headers }),
        reject,
      )
    },
  )
  sent.on('error', reject).end(body)
  return promise
}

const FORM = {
  method: 'POST',
  body: '',
  headers: { 'content-type': 'application/x-www-form-urlencoded', 'content-length': 0 },
}
/** As RFC 8058 describes it. */
const ONE_CLICK = {
  method: 'POST',
  body: '--b\r\nContent-Disposition: form-data; name="List-Unsubscribe"\r\n\r\nOne-Click\r\n--b--\r\n',
  headers: { 'content-type': 'multipart/form-data; boundary=b' },
}

it('an address is sent one message before its owner confirms it, and then what waited', async ({
  db,
}) => {
  const { base, server, dispatcher, sendRequested, callerOf } = await fixture(db)
  const { send, get } = await callerOf('northwind')

  const made = await send('POST', ENDPOINTS, { format: 'email', target: ADDRESS })
  const path = `${ENDPOINTS}/${made.body.id}`
  expect(made.body).toMatchObject({ enabled: false, disabledReason: 'unconfirmed' })
  expect(made.body).toMatchObject({ confirmationSentAt: null, confirmationFailure: null })
  expect(await sendRequested()).toEqual({ sent: 1, failed: 0 })
  expect(await sendRequested()).toEqual({ sent: 0, failed: 0 })

  // Nothing else is sent, whatever the reseller tries.
  const tested = await send('POST', `${path}/test`)
  const enabled = await send('PATCH', path, { enabled: true })
  await dispatcher.dispatch()
  expect(tested.body).toMatchObject({ code: 'delivery.endpoint_disabled' })
  expect(tested.body.detail).toContain('confirmed')
  expect(enabled.body).toMatchObject({ enabled: false, disabledReason: 'unconfirmed' })
  expect((await get(path)).body.confirmationSentAt).toEqual(expect.any(String))
  expect(server.mails.map(({ to }) => to)).toEqual([[ADDRESS]])
  expect(shown(server.mails[0])).toContain('northwind')

  // Scanners open the link and change nothing, and the link is not that of the Host header.
  const link = linkIn(server.mails[0], 'confirm')
  const forged = { headers: { host: 'evil.example' } }
  const pages = [await visit(base, link, forged), await visit(base, link, { method: 'HEAD' })]
  expect(pages.map(({ status }) => status)).toEqual([200, 200])
  expect(pages[0]?.text).toContain('<form method="post"><button>Confirm</button></form>')
  expect(pages[0]?.text).not.toMatch(/evil|<script|ana@/)
  expect(pages[0]?.headers['content-security-policy']).toContain("default-src 'none'")
  expect(pages[0]?.headers).toMatchObject({ 'cache-control': 'no-store' })
  expect((await get(path)).body).toMatchObject({ disabledReason: 'unconfirmed' })

  const confirmed = await visit(base, link, {
    ...FORM,
    headers: { ...FORM.headers, ...forged.headers },
  })
  const again = await visit(base, link, FORM)
  await send('POST', `${path}/test`)
  await dispatcher.dispatch()
  await dispatcher.recorded(1)
  expect(confirmed).toMatchObject({ status: 200, text: expect.stringContaining('Confirmed') })
  expect(again).toMatchObject({ status: 410, text: expect.stringContaining('<h1>') })
  expect((await get(path)).body).toMatchObject({ enabled: true, disabledReason: null })
  expect(shown(server.mails[1])).toContain('This is a test.')
  expect(server.mails).toHaveLength(2)
})

it('a link confirms for 24 hours, for its reseller alone, until a newer one replaces it; its token is stored nowhere', async ({
  db,
}) => {
  const { base, server, sendRequested, callerOf } = await fixture(db)
  const [own, other] = [await callerOf('northwind'), await callerOf('other')]
  const { id } = (await own.send('POST', ENDPOINTS, { format: 'email', target: ADDRESS })).body
  const { id: othersId } = (
    await other.send('POST', ENDPOINTS, { format: 'email', target: ADDRESS.toUpperCase() })
  ).body
  await sendRequested()
  const first = server.mails.findIndex((mail) => shown(mail).includes('northwind'))

  await own.send('POST', `${ENDPOINTS}/${id}/resend-confirmation`)
  await sendRequested()
  const replaced = await visit(base, linkIn(server.mails[first], 'confirm'), FORM)
  const link = linkIn(server.mails[2], 'confirm')
  const { rows } = await sql<{ row: string }>`
    select to_jsonb(a)::text as row from email_address a union all select to_jsonb(l)::text from email_link l
  `.execute(db)
  await sql`update email_link set expires_at = expires_at - interval '24 hours'`.execute(db)
  const expired = await visit(base, link, FORM)
  await sql`update email_link set expires_at = expires_at + interval '1 minute'`.execute(db)
  // Both find the link before either can use it up.
  const atOnce = await inTransaction(db, async (tx) => {
    await sql`select from email_link for update`.execute(tx)
    const visits = [visit(base, link, FORM), visit(base, link, FORM)]
    await untilWaiting(db, 2)
    return visits
  })
  const inTime = (await Promise.all(atOnce)).map(({ status }) => status)

  expect([replaced.status, expired.status]).toEqual([410, 410])
  expect(inTime.toSorted()).toEqual([200, 410])
  expect((await own.get(`${ENDPOINTS}/${id}`)).body).toMatchObject({ enabled: true })
  expect((await other.get(`${ENDPOINTS}/${othersId}`)).body).toMatchObject({
    disabledReason: 'unconfirmed',
  })
  const stored = rows.map(({ row }) => row).join()
  const token = link.split('/').at(-1) ?? ''
  for (const secret of [ADDRESS, token, Buffer.from(token).toString('hex')]) {
    expect(stored).not.toContain(secret)
  }
})

it('a mail provider ends the messages with one request, and only the owner of the address begins them again', async ({
  db,
}) => {
  const { base, server, dispatcher, sendRequested, callerOf } = await fixture(db)
  const { send, get } = await callerOf('northwind')
  const [{ id }] = [(await send('POST', ENDPOINTS, { format: 'email', target: ADDRESS })).body]
  const webhook = (await send('POST', ENDPOINTS, { target: 'https://receiver.example/' })).body
  const path = `${ENDPOINTS}/${id}`
  await sendRequested()
  await visit(base, linkIn(server.mails[0], 'confirm'), FORM)
  await send('POST', `${path}/test`)
  await dispatcher.dispatch()
  await dispatcher.recorded(1)

  const [, mail] = server.mails
  const header = /^List-Unsubscribe: <(.*)>\r$/m.exec(`${shown(mail)}`)?.[1]
  const unsubscribe = linkIn(mail, 'unsubscribe')
  expect(header).toBe(`${PUBLIC_URL}${unsubscribe}`)
  expect(shown(mail)).toMatch(/^List-Unsubscribe-Post: List-Unsubscribe=One-Click\r$/m)
  expect((await visit(base, unsubscribe)).text).toContain('<button>Unsubscribe</button>')
  expect((await get(path)).body).toMatchObject({ enabled: true })

  const ended = await visit(base, unsubscribe, ONE_CLICK)
  expect(ended.status).toBe(200)
  expect((await get(path)).body).toMatchObject({ enabled: false, disabledReason: 'unsubscribed' })
  const { rows } = await sql`
    select payload ->> 'reason' as reason from delivery where endpoint_id = ${webhook.id} and type = 'webhook.disabled'
  `.execute(db)
  expect(rows).toEqual([{ reason: 'unsubscribed' }])

  // Neither the endpoint, nor another one, nor a request of the reseller reaches the address.
  await send('PATCH', path, { enabled: false })
  const enabled = await send('PATCH', path, { enabled: true })
  const another = await send('POST', ENDPOINTS, { format: 'email', target: ADDRESS })
  const resent = await send('POST', `${path}/resend-confirmation`)
  await sendRequested()
  await dispatcher.dispatch()
  expect(enabled.body).toMatchObject({ disabledReason: 'unsubscribed' })
  expect(another.body).toMatchObject({ disabledReason: 'unsubscribed' })
  expect(resent.body).toMatchObject({ code: 'delivery.no_confirmation_due' })
  expect(server.mails).toHaveLength(2)

  const button = /action="(.*?)"/.exec(ended.text)?.[1] ?? ''
  const subscribed = await visit(base, new URL(button, `${base}${unsubscribe}`).pathname, FORM)
  expect((await get(path)).body).toMatchObject({ disabledReason: 'unconfirmed' })
  await sendRequested()
  await visit(base, linkIn(server.mails[2], 'confirm'), FORM)
  expect(subscribed.status).toBe(200)
  expect((await get(path)).body).toMatchObject({ enabled: true })
})

it('an address is asked five times a day by all resellers together, and a reseller asks 50 times', async ({
  db,
}) => {
  const { callerOf } = await fixture(db)
  const callers = await Promise.all(['a', 'b', 'c', 'd'].map(callerOf))
  const body = { format: 'email', target: ADDRESS }

  const made = await Promise.all(callers.map(({ send }) => send('POST', ENDPOINTS, body)))
  const refused = made.filter(({ status }) => status === 409)
  await sql`update target_pace set next_at = next_at - interval '8 hours'`.execute(db)
  const later = await callers[0]?.send('POST', ENDPOINTS, { ...body, target: 'bob@agency.example' })
  const statuses: number[] = []
  for (let i = 0; i < 26; i += 1) {
    const target = `person-${i}@agency.example`
    const one = await callers[0]?.send('POST', ENDPOINTS, { format: 'email', target })
    statuses.push(one?.status ?? 0)
    await callers[0]?.send('DELETE', `${ENDPOINTS}/${one?.body.id}`)
  }

  expect(refused).toHaveLength(1)
  expect(refused[0]?.body).toMatchObject({ code: 'quota.confirmations' })
  expect(Number(refused[0]?.headers.get('retry-after'))).toBeGreaterThan(7 * 3_600)
  expect(later?.status).toBe(201)
  expect(statuses.slice(0, 24)).toEqual(Array(24).fill(201))
  expect(statuses.at(-1)).toBe(409)
})

it('a message that the mail server refuses is tried again with another link, and its reseller sees why', async ({
  db,
}) => {
  const { server, sendRequested, callerOf } = await fixture(db)
  const { send, get } = await callerOf('northwind')
  const { id } = (await send('POST', ENDPOINTS, { format: 'email', target: ADDRESS })).body
  const path = `${ENDPOINTS}/${id}`
  server.steps.DATA = '451 4.3.0 later'

  expect(await sendRequested()).toEqual({ sent: 0, failed: 1 })
  const failing = (await get(path)).body
  server.steps.DATA = undefined
  await sql`update email_address set send_at = send_at - interval '10 seconds'`.execute(db)
  expect(await sendRequested()).toEqual({ sent: 1, failed: 0 })

  expect(failing).toMatchObject({ confirmationSentAt: null, confirmationFailure: 'smtp_4xx' })
  expect((await get(path)).body).toMatchObject({ confirmationFailure: null })
  const { rows } = await sql`select purpose from email_link order by 1`.execute(db)
  expect(rows).toEqual([{ purpose: 'confirm' }, { purpose: 'unsubscribe' }])
})

it('the addresses of endpoints from before confirmations stay confirmed', async ({ db }) => {
  const { callerOf, sendRequested } = await fixture(db)
  const { send, get } = await callerOf('northwind')
  const { id } = (await send('POST', ENDPOINTS, { format: 'email', target: ADDRESS })).body
  await sql`
    update webhook_endpoint set target_hash = null, disabled_at = null, disabled_reason = null
  `.execute(db)
  await sql`delete from email_address`.execute(db)

  await Promise.all([adoptTargets(db, TEST_SEALER), adoptTargets(db, TEST_SEALER)])
  const paused = await send('PATCH', `${ENDPOINTS}/${id}`, { enabled: false })
  const enabled = await send('PATCH', `${ENDPOINTS}/${id}`, { enabled: true })
  const another = await send('POST', ENDPOINTS, { format: 'email', target: 'Ana@agency.example' })
  const changed = await send('PATCH', `${ENDPOINTS}/${id}`, { target: 'bob@agency.example' })

  expect(paused.body).toMatchObject({ disabledReason: 'paused' })
  expect(enabled.body).toMatchObject({ enabled: true })
  expect(another.body).toMatchObject({ enabled: true })
  expect(changed.body).toMatchObject({ disabledReason: 'unconfirmed' })
  expect(await sendRequested()).toEqual({ sent: 1, failed: 0 })
  expect((await get(ENDPOINTS)).body.items).toHaveLength(2)
})
