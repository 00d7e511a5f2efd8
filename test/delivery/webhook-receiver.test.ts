import { describe, expect, it, onTestFinished } from 'vitest'
import { createTransport } from '../../src/delivery/formats/transport.ts'
import { createWebhookFormat, signedHeaders } from '../../src/delivery/formats/webhook.ts'
import {
  createWebhookReader,
  type ShownWebhook,
  secretFault,
  startReceiver,
} from '../../src/delivery/receiver.ts'
import { SOLD_OUT, soldOut, TARGET } from './message-fixtures.ts'

const SECRET = `whsec_${Buffer.alloc(24, 7).toString('base64')}`
const OTHER = `whsec_${Buffer.alloc(24, 8).toString('base64')}`
const NOW = new Date('2026-11-22T13:00:00Z')
const BODY = JSON.stringify({ type: 'webhook.test', timestamp: NOW.toISOString(), data: {} })

const signed = (secrets: readonly string[], { id = 'd1', now = NOW } = {}) =>
  signedHeaders(id, BODY, { secrets, now })

describe('a webhook that the receiver reads', () => {
  const read = (headers: Record<string, string>, body = BODY) =>
    createWebhookReader(() => NOW)(headers, body, SECRET)

  it.each([
    ['of another secret', signed([OTHER]), BODY, 'no valid signature'],
    ['of another body', signed([SECRET]), BODY.replace('test', 'best'), 'no valid signature'],
    ['without a signature', { ...signed([SECRET]), 'webhook-signature': '' }, BODY, 'no valid'],
    ['of another id', { ...signed([SECRET]), 'webhook-id': 'd2' }, BODY, 'no valid signature'],
    [
      'from six minutes ago',
      signed([SECRET], { now: new Date(NOW.getTime() - 360_000) }),
      BODY,
      'five minutes',
    ],
    ['without a timestamp', { 'webhook-id': 'd1' }, BODY, 'no webhook-timestamp'],
    ['without an id', {}, BODY, 'no webhook-id'],
  ] as const)('is refused %s', (_, headers, body, reason) => {
    const found = read(headers, body)

    expect(found).toMatchObject({ status: 400, reason: expect.stringContaining(reason) })
  })

  it('is accepted again but named as known, and its body is read after its signature', () => {
    const read = createWebhookReader(() => NOW)
    const again = () => read(signed([SECRET]), BODY, SECRET)

    expect([again(), again()]).toMatchObject([{ again: false }, { again: true }])
    expect(read({ 'webhook-id': 'x' }, '{"type":1}', undefined)).toMatchObject({
      status: 400,
      reason: 'the body is no webhook',
    })
  })

  it.each([
    [SECRET, undefined],
    ['whsec_short', 'must be the secret'],
    [SECRET.slice(6), 'must be the secret'],
  ])('has a secret: %s has the fault %s', (secret, fault) => {
    if (fault === undefined) expect(secretFault(secret)).toBeUndefined()
    else expect(secretFault(secret)).toContain(fault)
  })
})

it('the receiver verifies and shows what the format of webhooks sends', async () => {
  const shown: ShownWebhook[] = []
  let secret: string | undefined = SECRET
  const receiver = await startReceiver({
    host: '127.0.0.1',
    port: 0,
    secret: () => secret,
    now: () => new Date(),
    onWebhook: (webhook) => shown.push(webhook),
  })
  onTestFinished(() => receiver.close())
  const policy = { allowHttp: false, allowedNetworks: ['127.0.0.1/32'] }
  const transport = createTransport({ policy, scrub: (text) => text })
  onTestFinished(() => transport.close())
  const send = (seq: number) =>
    createWebhookFormat({ transport }).send(
      { ...TARGET, address: receiver.url, secrets: [SECRET] },
      [soldOut({ seq })],
      new AbortController().signal,
    )

  const results = [await send(1), await send(1)]
  secret = OTHER
  results.push(await send(2))
  secret = undefined
  results.push(await send(3))

  expect(results.map(({ kind }) => kind)).toEqual(['delivered', 'delivered', 'failed', 'delivered'])
  expect(shown).toEqual([
    { text: SOLD_OUT, outcome: 'verified', seq: 1 },
    { text: SOLD_OUT, outcome: 'again', seq: 1 },
    { text: 'no valid signature', outcome: 'refused', seq: null },
    { text: SOLD_OUT, outcome: 'not verified', seq: 3 },
  ])
  const large = await fetch(receiver.url, { method: 'POST', body: 'x'.repeat(70_000) }).catch(
    () => undefined,
  )
  expect(large?.status ?? 413).toBe(413)
  expect((await fetch(receiver.url)).status).toBe(405)
})
