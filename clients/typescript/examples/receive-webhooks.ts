/**
 * Receives webhooks: verifies each, ignores those that it has already, and reports missing ones.
 *
 *   WEBHOOK_SECRET=whsec_… PORT=8089 node examples/receive-webhooks.ts
 */
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import process from 'node:process'
import { buffer } from 'node:stream/consumers'
import { Webhook } from 'standardwebhooks'
import type { WatchChange } from '../src/schema.d.ts'

const webhook = new Webhook(process.env.WEBHOOK_SECRET ?? '')

/** A record of your feed, or an event about the endpoint itself, such as `webhook.test`. */
interface Message {
  readonly type: string
  readonly timestamp: string
  readonly data: WatchChange
}

// A real receiver keeps these two in its database, in the transaction that applies the record.
const seen = new Set<string>()
let last: number | undefined

/** Throws if the signature is wrong, or the message older than five minutes. */
async function verified(request: IncomingMessage): Promise<Message> {
  const body = await buffer(request)
  return webhook.verify(body.toString(), request.headers as Record<string, string>) as Message
}

function apply({ type, data }: Message): void {
  if (!type.startsWith('fare.')) {
    console.log(type)
    return
  }
  const { seq, previous, list, reference, after } = data
  // Deliveries run in parallel: what is missing here may still be on its way. After a while, read the feed after `last`.
  if (last !== undefined && previous > last) console.log(`missing: ${previous}, after ${last}`)
  last = Math.max(last ?? 0, seq)
  console.log(`${type} ${seq} ${list} ${reference}: ${after.pair}`)
}

const server = createServer(async (request, response) => {
  try {
    const message = await verified(request)
    const id = String(request.headers['webhook-id'])
    if (!seen.has(id)) apply(message)
    seen.add(id)
    // Any 2xx says that the message is kept. Answer quickly, and work afterwards.
    response.writeHead(204).end()
  } catch (err) {
    console.log(`refused: ${err instanceof Error ? err.message : String(err)}`)
    response.writeHead(400).end()
  }
})
server.listen(Number(process.env.PORT ?? 8089), '127.0.0.1', () => {
  console.log(`listening on http://127.0.0.1:${(server.address() as AddressInfo).port}`)
})
