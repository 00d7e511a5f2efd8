/** The receiver of bench/delivery.ts, in a process of its own: paths that begin with /hang are never answered. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

let received = 0
let lagsMs: number[] = []

const server = createServer((req, res) => {
  const chunks: Buffer[] = []
  req.on('data', (chunk: Buffer) => chunks.push(chunk))
  req.on('error', () => undefined)
  req.on('end', () => {
    if (req.url?.startsWith('/hang')) return
    received += 1
    const { data } = JSON.parse(Buffer.concat(chunks).toString()) as {
      data: { recordedAt: string }
    }
    lagsMs.push(Date.now() - Date.parse(data.recordedAt))
    res.end()
  })
})
// Answers with the counts since the last message.
process.on('message', () => {
  process.send?.({ received, lagsMs })
  received = 0
  lagsMs = []
})
process.on('disconnect', () => process.exit())
server.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port))
