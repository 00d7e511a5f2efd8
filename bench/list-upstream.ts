/** The upstream of bench/upstream.ts, in its own process. It serves one large route list from memory. */
import http from 'node:http'
import type { AddressInfo } from 'node:net'

const ROUTES = Number(process.argv[2])
const PLACES = 4_000
const ROUTES_A_PART = 10_000

function place(i: number) {
  return { id: String(i), iata: `X${i}`, city: `City ${i}`, country: `Country ${i % 90}` }
}

function routes(first: number, count: number): string {
  const part = Array.from({ length: count }, (_, i) => ({
    departure: place((first + i) % PLACES),
    destination: place(PLACES + Math.floor((first + i) / PLACES)),
  }))
  return JSON.stringify(part).slice(1, -1)
}

const parts: string[] = []
for (let first = 0; first < ROUTES; first += ROUTES_A_PART) {
  parts.push(routes(first, Math.min(ROUTES_A_PART, ROUTES - first)))
}
const body = Buffer.from(`[${parts.join(',')}]`)

const server = http.createServer((_request, response) => {
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': body.length })
  response.end(body)
})
server.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port))
process.once('disconnect', () => process.exit())
