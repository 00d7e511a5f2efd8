import { createHmac, timingSafeEqual } from 'node:crypto'
import type { WebhookEvent } from './schema.ts'

/** A request as it arrived. */
export interface ReceivedWebhook {
  /** Those of Node's `request.headers`, or a `Headers`. */
  readonly headers: Headers | Readonly<Record<string, string | readonly string[] | undefined>>
  /** The bytes of the body, or their text, before it is parsed. */
  readonly body: Uint8Array | string
}

export interface VerifyOptions {
  /** The secret of the endpoint, `whsec_…`; or several, of which one must have signed. */
  readonly secret: string | readonly string[]
  /** How far the time of the request may be away. Default: five minutes. */
  readonly toleranceSeconds?: number | undefined
  readonly now?: Date | undefined
}

export interface VerifiedWebhook {
  /** The same at every attempt and every replay: ignore an id that you have already. */
  readonly id: string
  /** A union by `type`, of the types that this version knows. Ignore others. */
  readonly event: WebhookEvent
}

/** The request is not a webhook of farewatch for this secret. Answer 400. */
export class WebhookError extends Error {
  override readonly name = 'WebhookError'
}

const PREFIX = 'whsec_'
const TOLERANCE_SECONDS = 300

/**
 * Verifies a webhook by the Standard Webhooks specification: the signature over the bytes of the body, then its time.
 * Throws WebhookError, and TypeError for what is no secret.
 */
export function verifyWebhook(
  { headers, body }: ReceivedWebhook,
  { secret, toleranceSeconds = TOLERANCE_SECONDS, now = new Date() }: VerifyOptions,
): VerifiedWebhook {
  const keys = [secret].flat().map(keyOf)
  if (keys.length === 0) throw new TypeError('there must be a secret')
  const id = headerOf(headers, 'webhook-id')
  const timestamp = headerOf(headers, 'webhook-timestamp')
  const given = headerOf(headers, 'webhook-signature').split(' ')
  if (!keys.some((key) => isSigned(`${id}.${timestamp}.`, body, { key, given }))) {
    throw new WebhookError('no signature of the secret')
  }
  const ageSeconds = now.getTime() / 1000 - Number(timestamp)
  if (!(Math.abs(ageSeconds) <= toleranceSeconds)) {
    throw new WebhookError(`the time is more than ${toleranceSeconds} seconds away`)
  }
  return { id, event: parse(body) }
}

function keyOf(secret: string): Buffer {
  const key = Buffer.from(secret.slice(PREFIX.length), 'base64')
  if (!secret.startsWith(PREFIX) || key.length < 16) {
    throw new TypeError(`a secret begins with ${PREFIX}`)
  }
  return key
}

function headerOf(headers: ReceivedWebhook['headers'], name: string): string {
  const value = headers instanceof Headers ? headers.get(name) : headers[name]
  if (typeof value !== 'string') throw new WebhookError(`there is no header ${name}`)
  return value
}

/** Compares every given signature, in a time that does not tell how much of one is right. */
function isSigned(
  start: string,
  body: Uint8Array | string,
  { key, given }: { readonly key: Buffer; readonly given: readonly string[] },
): boolean {
  const own = Buffer.from(
    `v1,${createHmac('sha256', key).update(start).update(body).digest('base64')}`,
  )
  const equal = given.filter((text) => {
    const other = Buffer.from(text)
    return other.length === own.length && timingSafeEqual(other, own)
  })
  return equal.length > 0
}

function parse(body: Uint8Array | string): WebhookEvent {
  const text = typeof body === 'string' ? body : Buffer.from(body).toString('utf8')
  try {
    return JSON.parse(text) as WebhookEvent
  } catch (cause) {
    throw new WebhookError('the body is not JSON', { cause })
  }
}
