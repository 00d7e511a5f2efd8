import type { ServerResponse } from 'node:http'
import { expect, it } from 'vitest'
import { clientFor, clientOf } from './client-fixture.ts'
import { startRawServer } from './raw-server.ts'

/** Sends blanks until the client hangs up. */
function sendForEver(response: ServerResponse): void {
  const block = Buffer.alloc(65_536, ' ')
  const send = () => {
    while (!response.destroyed && response.write(block));
  }
  response.on('drain', send)
  send()
}

it.each([
  ['for its status', 500, {}],
  ['for its type', 200, { 'content-type': 'text/html' }],
  ['for its encoding', 200, { 'content-type': 'application/json', 'content-encoding': 'br' }],
  ['for its size', 200, { 'content-type': 'application/json' }],
])('the client hangs up on an endless body that it refuses %s', async (_why, status, headers) => {
  const hungUp = Promise.withResolvers<void>()
  await using fixture = await clientFor(
    (_request, response) => {
      response.on('close', hungUp.resolve)
      response.writeHead(status, headers)
      sendForEver(response)
    },
    { limits: { maxBodyBytes: 1_000_000 } },
  )

  await expect(fixture.pull()).rejects.toThrow(/^routes: /)

  await hungUp.promise
})

it('the connection of an answer that was read to its end is kept', async () => {
  const ports: (number | undefined)[] = []
  await using fixture = await clientFor(
    (request, response) => {
      ports.push(request.socket.remotePort)
      response.writeHead(ports.length === 1 ? 503 : 200, { 'content-type': 'application/json' })
      response.end('[]')
    },
    { limits: { maxConnections: 1 } },
  )

  await expect(fixture.pull()).rejects.toThrow('answered 503')
  await fixture.pull()

  expect(ports[1]).toBe(ports[0])
})

const INTERIM = 'HTTP/1.1 100 Continue\r\nx-wait: 1\r\n\r\n'
const ANSWER = 'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n[]'

it.each([
  ['before the answer', [INTERIM, ANSWER]],
  ['with it', [INTERIM + ANSWER]],
  ['twice, in pieces', [INTERIM.slice(0, 20), INTERIM.slice(20) + INTERIM, ANSWER]],
  ['with other interim answers', [`HTTP/1.1 103 Early Hints\r\n\r\n${INTERIM}${ANSWER}`]],
])('the client skips an unasked 100 Continue %s', async (_where, pieces) => {
  await using server = await startRawServer()
  await using fixture = clientOf(server.url)
  server.answer(
    pieces.map((piece) => Buffer.from(piece)),
    'fin',
  )

  expect(await fixture.pull()).toEqual([])
})
