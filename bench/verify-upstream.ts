/** An unchanged upstream in a process of its own, so that its CPU time is not measured: one flight, for every id. */
import http from 'node:http'
import { flightFor } from '../test/fares/verify-server.ts'
import { listenLocally } from '../test/support/local-server.ts'

const ID = '424242424'
const parts = JSON.stringify(flightFor(ID)).split(ID)

const server = http.createServer({ keepAliveTimeout: 60_000 }, (request, response) => {
  const id = /[?&]flightId=(\d+)/.exec(request.url ?? '')?.[1]
  response.writeHead(id === undefined ? 404 : 200, { 'content-type': 'application/json' })
  response.end(parts.join(id))
})
const { url } = await listenLocally(server)
process.send?.(url)
process.once('disconnect', () => process.exit())
