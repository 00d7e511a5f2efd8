import { timingSafeEqual } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import {
  createEndpoint,
  deleteEndpoint,
  type EndpointDeps,
  type EndpointWithSecret,
} from './endpoints/change-endpoints.ts'
import { type EndpointOwner, listEndpoints } from './endpoints/endpoint-queries.ts'
import type { NewEndpoint } from './endpoints/endpoint-settings.ts'
import type { Message } from './formats/format.ts'
import { sentenceOf } from './formats/sentences.ts'
import { SECRET_PREFIX, sign } from './formats/webhook.ts'

/** A webhook that arrived, for people. */
export interface ShownWebhook {
  /** The sentence of its change; why it was refused if it was. */
  readonly text: string
  readonly outcome: 'verified' | 'not verified' | 'again' | 'refused'
  /** The number of the record in its feed; null for an event. */
  readonly seq: number | null
}

interface ReceiverOptions {
  readonly host: string
  /** 0 takes any free one. */
  readonly port: number
  /** The signing secret, read at each request; undefined: nothing is verified. */
  readonly secret: () => string | undefined
  readonly now: () => Date
  readonly onWebhook: (webhook: ShownWebhook) => void
  /** Whether it takes the webhook with this id, or answers 503. Default: it takes all. */
  readonly isUp?: (webhookId: string) => boolean
}

export interface Receiver {
  readonly url: string
  close(): Promise<void>
}

/** Creates an endpoint for a receiver. It replaces that of an earlier start, which has the same description. */
export async function registerReceiver(
  owner: EndpointOwner,
  deps: EndpointDeps,
  given: NewEndpoint & { readonly description: string },
): Promise<EndpointWithSecret> {
  for (const { id, description } of await listEndpoints(owner.db, owner)) {
    if (description === given.description) await deleteEndpoint(owner, id)
  }
  return createEndpoint(owner, deps, given)
}

const MAX_BODY_BYTES = 65_536

/** A receiver of webhooks, to try endpoints with: it verifies, answers 204 and reports each webhook. */
export async function startReceiver(options: ReceiverOptions): Promise<Receiver> {
  const { host, port, secret, now, onWebhook, isUp = () => true } = options
  const read = createWebhookReader(now)

  const receive = async (request: IncomingMessage): Promise<number> => {
    if (request.method !== 'POST') return 405
    const body = await readBody(request)
    if (body === undefined) return 413
    if (!isUp(String(request.headers['webhook-id']))) return 503
    const known = secret()
    const received = read(request.headers, body, known)
    if (received.status === 400) {
      onWebhook({ text: received.reason, outcome: 'refused', seq: null })
      return 400
    }
    const { message, again } = received
    const { seq } = message.data as { seq?: unknown }
    onWebhook({
      text: sentenceOf(message),
      outcome: again ? 'again' : known === undefined ? 'not verified' : 'verified',
      seq: typeof seq === 'number' ? seq : null,
    })
    return 204
  }

  const server = createServer({ requestTimeout: 15_000 }, (request, response) => {
    receive(request).then(
      (status) => response.writeHead(status).end(),
      // The sender has left.
      () => response.destroy(),
    )
  })
  server.listen({ host, port })
  await once(server, 'listening')
  const bound = (server.address() as AddressInfo).port
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${bound}`,
    close: async () => {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
}

/** Undefined if it is over the limit. */
async function readBody(request: IncomingMessage): Promise<string | undefined> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length
    if (bytes > MAX_BODY_BYTES) return undefined
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

/** A webhook whose timestamp is further away is refused, because it may be a recorded one that an attacker sends. */
const TOLERANCE_SECONDS = 300
/** How many ids of accepted webhooks are remembered. */
const MAX_KNOWN_IDS = 10_000

type Received =
  | {
      readonly status: 204
      readonly message: Message
      /** Whether the same webhook was accepted before. It must not be processed twice. */
      readonly again: boolean
    }
  | { readonly status: 400; readonly reason: string }

/**
 * Verifies webhooks as a receiver must: signature, timestamp, then the id. Without a secret the signature is not
 * checked.
 */
export function createWebhookReader(now: () => Date) {
  const known = new Set<string>()
  return (headers: IncomingHttpHeaders, body: string, secret: string | undefined): Received => {
    const id = headers['webhook-id']
    if (typeof id !== 'string') return { status: 400, reason: 'no webhook-id' }
    const fault = secret === undefined ? undefined : signatureFault(headers, body, { secret, now })
    if (fault !== undefined) return { status: 400, reason: fault }
    const message = parseMessage(id, body)
    if (message === undefined) return { status: 400, reason: 'the body is no webhook' }
    const again = known.has(id)
    if (known.size >= MAX_KNOWN_IDS) known.delete([...known.keys()][0] ?? '')
    known.add(id)
    return { status: 204, message, again }
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
