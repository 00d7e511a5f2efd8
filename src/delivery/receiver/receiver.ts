import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { sentenceOf } from '../formats/sentences.ts'
import { createWebhookReader } from './receive-webhook.ts'

/** A webhook that arrived, for people. */
export interface ShownWebhook {
  /** The sentence of its change; why it was refused if it was. */
  readonly text: string
  readonly outcome: 'verified' | 'not verified' | 'again' | 'refused'
  /** The number of the record in its feed; null for an event. */
  readonly seq: number | null
}

export interface ReceiverOptions {
  readonly host: string
  /** 0 takes any free one. */
  readonly port: number
  /** The signing secret, read at each request; undefined: nothing is verified. */
  readonly secret: () => string | undefined
  readonly now: () => Date
  readonly onWebhook: (webhook: ShownWebhook) => void
}

export interface Receiver {
  readonly url: string
  close(): Promise<void>
}

const MAX_BODY_BYTES = 65_536

/** A receiver of webhooks, to try endpoints with: it verifies, answers 204 and reports each webhook. */
export async function startReceiver(options: ReceiverOptions): Promise<Receiver> {
  const { host, port, secret, now, onWebhook } = options
  const reader = createWebhookReader(now)

  const receive = async (request: IncomingMessage): Promise<number> => {
    if (request.method !== 'POST') return 405
    const body = await readBody(request)
    if (body === undefined) return 413
    const known = secret()
    const received = reader.read(request.headers, body, known)
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
