import { timingSafeEqual } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import type { Message } from '../formats/format.ts'
import { SECRET_PREFIX, sign } from '../formats/webhook.ts'

/** A webhook whose timestamp is further away is refused, because it may be a recorded one that an attacker sends. */
const TOLERANCE_SECONDS = 300
/** How many ids of accepted webhooks are remembered. */
const MAX_KNOWN_IDS = 10_000

export type Received =
  | {
      readonly status: 204
      readonly message: Message
      /** Whether the same webhook was accepted before. It must not be processed twice. */
      readonly again: boolean
    }
  | { readonly status: 400; readonly reason: string }

export interface WebhookReader {
  /** Reads one request. @param secret undefined: the signature is not checked. */
  read(headers: IncomingHttpHeaders, body: string, secret: string | undefined): Received
}

/** Verifies webhooks as a receiver must: signature, timestamp, then the id. */
export function createWebhookReader(now: () => Date): WebhookReader {
  const known = new Set<string>()
  return {
    read(headers, body, secret) {
      const id = headers['webhook-id']
      if (typeof id !== 'string') return { status: 400, reason: 'no webhook-id' }
      const fault =
        secret === undefined ? undefined : signatureFault(headers, body, { secret, now })
      if (fault !== undefined) return { status: 400, reason: fault }
      const message = parseMessage(id, body)
      if (message === undefined) return { status: 400, reason: 'the body is no webhook' }
      const again = known.has(id)
      if (known.size >= MAX_KNOWN_IDS) known.delete([...known.keys()][0] ?? '')
      known.add(id)
      return { status: 204, message, again }
    },
  }
}

/** Why a signature does not hold; undefined if it does. A header may carry several: one for each secret in force. */
function signatureFault(
  headers: IncomingHttpHeaders,
  body: string,
  { secret, now }: { readonly secret: string; readonly now: () => Date },
): string | undefined {
  const { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': given } = headers
  const seconds = Number(timestamp)
  if (!Number.isInteger(seconds)) return 'no webhook-timestamp'
  if (Math.abs(now().getTime() / 1000 - seconds) > TOLERANCE_SECONDS) {
    return 'webhook-timestamp is more than five minutes away'
  }
  const wanted = Buffer.from(`v1,${sign(secret, `${id}.${timestamp}.${body}`)}`)
  const holds = String(given ?? '')
    .split(' ')
    .map((text) => Buffer.from(text))
    .some((found) => found.length === wanted.length && timingSafeEqual(found, wanted))
  return holds ? undefined : 'no valid signature'
}

function parseMessage(id: string, body: string): Message | undefined {
  try {
    const { type, timestamp, data } = JSON.parse(body)
    const isMessage = typeof type === 'string' && typeof timestamp === 'string'
    return isMessage ? { deliveryId: id, type, timestamp, data: data ?? {} } : undefined
  } catch {
    return undefined
  }
}

/** What is wrong with a signing secret; undefined if it is valid. */
export function secretFault(secret: string): string | undefined {
  const isSecret =
    secret.startsWith(SECRET_PREFIX) &&
    /^[A-Za-z0-9+/]{24,}={0,2}$/.test(secret.slice(SECRET_PREFIX.length))
  return isSecret
    ? undefined
    : `must be the secret of an endpoint, which begins with ${SECRET_PREFIX}`
}
