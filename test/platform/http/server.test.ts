import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { describe, expect, it, onTestFinished } from 'vitest'
import {
  createHttpServer,
  type HttpServer,
  type HttpServerOptions,
  listen,
} from '../../../src/platform/http/server.ts'
import { collectLog } from '../../support/collected-log.ts'

const LOOPBACK = { host: '127.0.0.1', port: 0, setting: 'API_PORT' }

function aServer(options: Partial<HttpServerOptions> = {}): {
  server: HttpServer
  lines: string[]
} {
  const { log, lines } = collectLog()
  const server = createHttpServer({ log, ...options })
  onTestFinished(() => server.close())
  server.post('/echo', async (request) => ({ body: request.body }))
  return { server, lines }
}

/** A server whose endpoint throws the value. */
function aFailingServer(thrown: unknown) {
  const { server, lines } = aServer()
  server.get('/things/:id', () => Promise.reject(thrown))
  const ask = () => server.inject({ url: '/things/1?q=hidden' })
  return { ask, lines }
}

const INTERNAL = {
  type: '/docs/problems/internal',
  status: 500,
  code: 'internal',
  title: 'Internal error',
}

describe('requests that cannot be served', () => {
  it.each([
    [
      'headers without end',
      `GET / HTTP/1.1\r\nhost: x\r\nx: ${'x'.repeat(20_000)}`,
      431,
      'request.headers_too_large',
    ],
    ['bytes that are not HTTP', 'hello there\r\n\r\n', 400, 'request.invalid'],
    ['no Host header', 'GET / HTTP/1.1\r\nconnection: close\r\n\r\n', 400, 'request.invalid'],
    [
      'two Host headers',
      'GET / HTTP/1.1\r\nhost: a\r\nHost: b\r\nconnection: close\r\n\r\n',
      400,
      'request.invalid',
    ],
    [
      'an unknown expectation',
      'GET / HTTP/1.1\r\nhost: a\r\nexpect: foo\r\nconnection: close\r\n\r\n',
      417,
      'request.unmet_expectation',
    ],
    ['a request of HTTP/1.0', 'GET /nowhere HTTP/1.0\r\nexpect: foo\r\n\r\n', 404, 'not_found'],
  ])(
    'a connection that sends %s is answered by a problem',
    async (_what, request, status, code) => {
      const { server } = aServer()
      const { port } = new URL(await listen(server, LOOPBACK))

      const socket = connect(Number(port), '127.0.0.1')
      // The server answers and closes before the client has sent everything.
      socket.on('error', () => undefined)
      socket.write(request)
      const answer = await text(socket)

      expect(answer).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `))
      expect(answer).toMatch(/content-type: application\/problem\+json/i)
      expect(JSON.parse(answer.slice(answer.indexOf('\r\n\r\n')))).toMatchObject({
        status,
        code,
      })
    },
  )
})

describe('requests that do not arrive', () => {
  it.each([
    ['everything', ''],
    ['the end of its headers', 'POST /echo HTTP/1.1\r\nhost: x\r\n'],
    [
      'its body',
      'POST /echo HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 9\r\n\r\n{',
    ],
  ])('a request that lacks %s is ended with 408 soon after its time', async (_what, request) => {
    const timeouts = { requestMs: 100, checkEveryMs: 20 }
    const { port } = new URL(await listen(aServer({ timeouts }).server, LOOPBACK))

    const socket = connect(Number(port), '127.0.0.1')
    socket.write(request)
    const answer = await text(socket)

    expect(answer).toMatch(/^HTTP\/1\.1 408 /)
    expect(answer).toContain('"code":"request.timeout"')
  })
})

describe('requests that fail', () => {
  it('an unexpected error is logged with the endpoint and without the query, and is not shown', async () => {
    const { ask, lines } = aFailingServer(new TypeError('secret of the house'))

    const answer = await ask()

    expect(answer.statusCode).toBe(500)
    expect(answer.json()).toEqual(INTERNAL)
    expect(lines).toHaveLength(1)
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({
      level: 'error',
      msg: 'request failed',
      method: 'GET',
      endpoint: '/things/:id',
      err: {
        message: 'secret of the house',
        stack: expect.stringMatching(/server\.test\.ts/) as string,
      },
    })
    expect(lines[0]).not.toContain('hidden')
  })

  it.each([
    ['a text', 'text'],
    ['an object', { secret: 1 }],
    ['null', null],
    ['undefined', undefined],
    ['an error with status 200', Object.assign(new Error('secret'), { statusCode: 200 })],
    [
      'an error whose status is not a number',
      Object.assign(new Error('secret'), { statusCode: 'x' }),
    ],
    ['an error with status 503', Object.assign(new Error('secret'), { statusCode: 503 })],
  ])('the answer shows nothing of %s that was thrown', async (_what, thrown) => {
    const answer = await aFailingServer(thrown).ask()

    expect(answer.statusCode).toBe(500)
    expect(answer.json()).toEqual(INTERNAL)
  })
})
