import { Webhook } from 'standardwebhooks'
import { expect, it } from 'vitest'
import { createTransport } from '../../src/delivery/formats/transport.ts'
import { createWebhookFormat } from '../../src/delivery/formats/webhook.ts'
import { startReceiver, targetOf } from './receiver.ts'

const NEWEST = `whsec_${Buffer.alloc(32, 1).toString('base64')}`
const PREVIOUS = `whsec_${Buffer.alloc(32, 2).toString('base64')}`
const MESSAGE = {
  deliveryId: '0199c5a2-0000-7000-8000-000000000001',
  type: 'fare.became_available',
  timestamp: '2026-03-01T12:00:00.000Z',
  data: { seq: 7, reference: 'Palma – Barcelona 🌞' },
}

it('both secrets verify a webhook while an old one is valid, and a changed body fails', async () => {
  await using receiver = await startReceiver()
  const transport = createTransport({
    policy: { allowHttp: false, allowedNetworks: ['127.0.0.1/32'] },
    scrub: (text) => text,
  })
  const format = createWebhookFormat({ transport })
  const target = targetOf(receiver.url, [NEWEST, PREVIOUS])

  const result = await format.send(target, [MESSAGE], new AbortController().signal)
  await transport.close()

  expect(result).toMatchObject({ kind: 'delivered' })
  const [request] = receiver.requests
  const headers = request?.headers as Record<string, string>
  const body = request?.body ?? ''
  const { deliveryId, ...content } = MESSAGE
  expect(headers['webhook-id']).toBe(deliveryId)
  expect(new Webhook(NEWEST).verify(body, headers)).toEqual(content)
  expect(new Webhook(PREVIOUS).verify(body, headers)).toEqual(content)
  expect(() => new Webhook(NEWEST).verify(`${body} `, headers)).toThrow('No matching signature')
})
