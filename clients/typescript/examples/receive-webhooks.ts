/**
 * Receives webhooks: verifies each, ignores those that it has already, and reports missing ones.
 *
 *   WEBHOOK_SECRET=whsec_… PORT=8089 node examples/receive-webhooks.ts
 */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import process from 'node:process'
import { buffer } from 'node:stream/consumers'
import { verifyWebhook, type WebhookEvent } from 'farewatch-client'

const secret = process.env.WEBHOOK_SECRET ?? ''

// A real receiver keeps these two in its database, in the transaction that applies the record.
const seen = new Set<string>()
let last: number | undefined

function apply({ type, data }: WebhookEvent): void {
  // Other events are about the endpoint itself, or examples, which are not part of the feed.
  if (!('seq' in data)) {
    console.log(type)
    return
  }
  const { seq, previous, list, reference } = data
  // A record about a route has no state of a fare.
  const state = 'after' in data ? data.after.state : 'see its route'
  // Deliveries run in parallel: what is missing here may still be on its way. After a while, read the feed after `last`.
  if (last !== undefined && previous > last) console.log(`missing: ${previous}, after ${last}`)
  last = Math.max(last ?? 0, seq)
  console.log(`${type} ${seq} ${list} ${reference}: ${state}`)
}

const server = createServer(async (request, response) => {
  try {
    const { headers } = request
    const { id, event } = verifyWebhook({ headers, body: await buffer(request) }, { secret })
    if (!seen.has(id)) apply(event)
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
