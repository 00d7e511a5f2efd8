import { createHmac, createSecretKey } from 'node:crypto'
import { type Clock, systemClock } from '../../platform/base/clock.ts'
import type { Format, Message } from './format.ts'
import type { Transport } from './transport.ts'

/** Sends each message as one POST in the form of the Standard Webhooks specification. */
export function createWebhookFormat({
  transport,
  clock = systemClock,
}: {
  readonly transport: Transport
  readonly clock?: Clock
}): Format {
  return {
    name: 'webhook',
    maxMessages: 1,
    send: (target, [message], signal) => {
      if (message === undefined) throw new Error('a webhook carries one message')
      const body = bodyOf(message)
      const headers = signedHeaders(message.deliveryId, body, {
        secrets: target.secrets,
        now: clock.now(),
      })
      return transport.post(target, { headers, body }, signal)
    },
  }
}

function bodyOf({ type, timestamp, data }: Message): string {
  return JSON.stringify({ type, timestamp, data })
}

/** The headers that identify and sign a message: one signature for each secret. */
export function signedHeaders(
  id: string,
  body: string,
  { secrets, now }: { readonly secrets: readonly string[]; readonly now: Date },
): Record<string, string> {
  const timestamp = String(Math.floor(now.getTime() / 1000))
  const signatures = secrets.map((secret) => `v1,${sign(secret, `${id}.${timestamp}.${body}`)}`)
  return {
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': signatures.join(' '),
  }
}

export const SECRET_PREFIX = 'whsec_'

/**
 * Source: Standard Webhooks 1.0, symmetric signatures. The key is the base64 after the prefix. As a KeyObject it
 * signs three times as fast: Node.js 24 takes long to find out that a Buffer is none.
 */
export function sign(secret: string, text: string): string {
  const key = createSecretKey(secret.slice(SECRET_PREFIX.length), 'base64')
  return createHmac('sha256', key).update(text).digest('base64')
}
