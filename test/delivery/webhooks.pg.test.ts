import { Webhook } from 'standardwebhooks'
import { expect, onTestFinished } from 'vitest'
import { createOpenTarget } from '../../src/delivery/endpoints/sealer.ts'
import type { Resolve } from '../../src/delivery/formats/target-policy.ts'
import { createTransport } from '../../src/delivery/formats/transport.ts'
import { createWebhookFormat } from '../../src/delivery/formats/webhook.ts'
import { type Db, sql } from '../../src/platform/db/database.ts'
import {
  fareOf,
  itemsOf,
  listWith,
  newCaller,
  type ResellerCalls,
  watch,
} from '../api/reseller-calls.ts'
import { available, record } from '../fares/fare-fixtures.ts'
import { startApi, TEST_SEALER } from '../support/api-server.ts'
import { collectLog } from '../support/collected-log.ts'
import { it } from '../support/test-database.ts'
import { makeDue, startDispatcher } from './delivery-fixtures.ts'
import { type Answer, type Receiver, startReceiver } from './receiver.ts'

const LOOPBACK = ['127.0.0.1/32']

interface Started {
  readonly calls: ResellerCalls
  /** Dispatches, and resolves when this number of results has been recorded in all. */
  readonly dispatched: (recorded: number) => Promise<void>
  readonly lines: readonly string[]
}

/** The API and a dispatcher that may deliver to loopback. */
async function start(db: Db, given: { readonly resolve?: Resolve } = {}): Promise<Started> {
  const { log, lines } = collectLog('trace')
  const transport = createTransport({
    policy: { allowHttp: true, allowedNetworks: LOOPBACK },
    scrub: (text) => text,
    ...given,
  })
  onTestFinished(() => transport.close())
  const dispatcher = startDispatcher(db, {
    formats: [createWebhookFormat({ transport })],
    openTarget: createOpenTarget(TEST_SEALER),
    publicUrl: 'https://fares.example',
    log,
  })
  const base = await startApi(db, { log, allowedNetworks: LOOPBACK })
  const dispatched = async (recorded: number) => {
    await dispatcher.dispatch()
    await dispatcher.recorded(recorded)
  }
  return { calls: await newCaller(db, base, 'northwind'), dispatched, lines }
}

async function newEndpoint({ send }: ResellerCalls, target: string) {
  const made = await send('POST', '/webhook-endpoints', { target })
  if (made.status !== 201) throw new Error(made.text)
  const path = `/webhook-endpoints/${String(made.body.id)}`
  return { id: String(made.body.id), secret: String(made.body.secret), path }
}

function verifies(secret: string, request: Receiver['requests'][number] | undefined): boolean {
  try {
    new Webhook(secret).verify(request?.body ?? '', request?.headers as Record<string, string>)
    return true
  } catch {
    return false
  }
}

// Fault: A signing secret is rotated between two attempts.
it('a secret that is rotated between two attempts signs the second one together with the former one', async ({
  db,
}) => {
  const { calls, dispatched, lines } = await start(db)
  const statuses = [500, 204]
  await using receiver = await startReceiver(({ path, headers }, response) => {
    // As some error pages do.
    response.writeHead(statuses.shift() ?? 204)
    response.end(response.statusCode === 204 ? undefined : JSON.stringify({ path, headers }))
  })
  const { id, secret, path } = await newEndpoint(calls, `${receiver.url}/hook/CANARY-TOKEN`)
  const { deliveryId } = (await calls.send('POST', `${path}/test`)).body

  await dispatched(1)
  const { body: rotated } = await calls.send('POST', `${path}/rotate-secret`)
  await makeDue(db, id)
  await dispatched(2)
  const delivery = await calls.get(`/deliveries/${String(deliveryId)}`)
  const target = `${receiver.url}/CANARY`
  const answers = [
    delivery,
    await calls.get('/webhook-endpoints'),
    await calls.send('PATCH', path, { target }),
    await calls.send('POST', '/webhook-endpoints', { target: `${target}#PART` }),
  ]

  const [first, second] = receiver.requests
  expect(receiver.requests.map(({ headers }) => headers['webhook-id'])).toEqual(
    Array(2).fill(deliveryId),
  )
  const newSecret = String(rotated.secret)
  expect([verifies(secret, first), verifies(newSecret, first)]).toEqual([true, false])
  expect([verifies(secret, second), verifies(newSecret, second)]).toEqual([true, true])
  expect(JSON.parse(second?.body ?? '')).toMatchObject({
    type: 'webhook.test',
    data: { endpointId: id },
  })
  expect(delivery.body).toMatchObject({
    state: 'delivered',
    attempts: [
      { status: 500, outcome: 'http_5xx', answer: expect.stringContaining('[redacted]') as string },
      { status: 204, outcome: 'ok' },
    ],
  })
  const { rows } = await sql<{ row: string }>`
    select to_jsonb(a)::text as row from delivery_attempt a
    union all select to_jsonb(d)::text from delivery d
    union all select to_jsonb(e)::text from webhook_endpoint e
  `.execute(db)
  const all = [...lines, ...answers.map(({ text }) => text), ...rows.map(({ row }) => row)].join()
  const texts = ['CANARY', secret.slice(6), newSecret.slice(6)]
  for (const text of texts.flatMap((one) => [one, Buffer.from(one).toString('hex')])) {
    expect(all).not.toContain(text)
  }
})

it('each secret signs for 24 hours after its rotation, and a rotation that would end one early is refused', async ({
  db,
}) => {
  const { calls, dispatched } = await start(db)
  await using receiver = await startReceiver(status(204))
  const { id, secret, path } = await newEndpoint(calls, `${receiver.url}/hook`)
  const secrets = [secret]
  for (let i = 0; i < 3; i += 1) {
    secrets.push(String((await calls.send('POST', `${path}/rotate-secret`)).body.secret))
  }

  const refused = await calls.send('POST', `${path}/rotate-secret`)
  await calls.send('POST', `${path}/test`)
  await dispatched(1)
  await sql`
    update previous_secret set signs_until = now() - interval '1 second'
     where id = (select min(id) from previous_secret where endpoint_id = ${id})
  `.execute(db)
  const accepted = await calls.send('POST', `${path}/rotate-secret`)
  await calls.send('POST', `${path}/test`)
  await dispatched(2)

  const [first, second] = receiver.requests
  const verified = (request: typeof first) => secrets.map((one) => verifies(one, request))
  expect(refused.body).toMatchObject({ code: 'quota.secret_rotations' })
  expect(verified(first)).toEqual([true, true, true, true])
  expect(accepted.status).toBe(200)
  expect(verified(second)).toEqual([false, true, true, true])
})

it('an endpoint says what failed last and since when records wait, and is tried again at once on request', async ({
  db,
}) => {
  const { calls, dispatched } = await start(db)
  const statuses = [503]
  await using receiver = await startReceiver((_request, response) => {
    response.writeHead(statuses.shift() ?? 204, { 'retry-after': '3600' })
    response.end(response.statusCode === 503 ? 'upgrading' : undefined)
  })
  await listWith(calls, 'summer', [watch('A-1')])
  const { path } = await newEndpoint(calls, `${receiver.url}/hook`)
  await record(db, await fareOf(db, '101'), new Date(), available())

  await dispatched(1)
  const failing = (await calls.get(path)).body
  const retried = await calls.send('POST', `${path}/retry`)
  await dispatched(2)
  const works = (await calls.get(path)).body
  const [sent] = itemsOf<{ id: string }>(
    await calls.get(`/deliveries?endpoint=${path.split('/').at(-1)}`),
  )
  const delivery = await calls.get(`/deliveries/${sent?.id ?? ''}`)
  await calls.send('PATCH', path, { enabled: false })
  const disabled = await calls.send('POST', `${path}/retry`)

  expect(failing).toMatchObject({
    pending: 1,
    oldestPendingAt: expect.any(String) as string,
    heldUntil: expect.any(String) as string,
    lastFailure: { status: 503, outcome: 'http_5xx', answer: 'upgrading' },
  })
  expect(retried).toMatchObject({ status: 202, body: { due: 1 } })
  expect(works).toMatchObject({
    pending: 0,
    oldestPendingAt: null,
    heldUntil: null,
    failingSince: null,
    lastFailure: null,
  })
  expect(delivery.body).toMatchObject({ attempts: [{ status: 503 }, { status: 204 }] })
  expect(JSON.stringify(delivery.body.body)).toBe(receiver.requests[1]?.body)
  expect(disabled.body).toMatchObject({ code: 'delivery.endpoint_disabled' })
})

const status =
  (code: number, headers: Record<string, string> = {}): Answer =>
  (_request, response) =>
    void response.writeHead(code, headers).end()
