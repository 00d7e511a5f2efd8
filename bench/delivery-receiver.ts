/** The receiver of bench/delivery.ts, in a process of its own: paths that begin with /hang are never answered. */
import { createServer } from 'node:http'
import { json } from 'node:stream/consumers'
import { listenLocally } from '../test/support/local-server.ts'

let lagsMs: number[] = []

const server = createServer(async (request, response) => {
  const { data } = (await json(request)) as { data: { recordedAt: string } }
  if (request.url?.startsWith('/hang')) return
  lagsMs.push(Date.now() - Date.parse(data.recordedAt))
  response.end()
})
// Answers with the time from each record to its arrival, since the last message.
process.on('message', () => {
  process.send?.(lagsMs)
  lagsMs = []
})
process.on('disconnect', () => process.exit())
process.send?.((await listenLocally(server)).url)
