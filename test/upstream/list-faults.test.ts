import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { createServer } from 'node:net'
import { inspect } from 'node:util'
import { describe, expect, it } from 'vitest'
import { AppError } from '../../src/platform/base/errors.ts'
import { createScrub } from '../../src/platform/base/secrets.ts'
import { answering } from './answering-server.ts'
import { CANARY, clientOf } from './client-fixture.ts'
import { LIST_FAULTS } from './list-faults.ts'

const RETRYABLE = new Set([
  'upstream.timeout',
  'upstream.network',
  'upstream.http_5xx',
  'upstream.rate_limited',
])

/** Everything that can be printed of an error, including its causes and hidden properties. */
function everythingOf(err: unknown): string {
  const { message, stack, cause } = err as Error
  const shown = inspect(err, { depth: Infinity, showHidden: true, getters: true })
  return [message, stack, String(cause), shown, JSON.stringify(err), String(err)].join('\n')
}

function expectNoCanary(text: string): void {
  expect(createScrub([CANARY])(text)).toBe(text)
  expect(text).not.toContain('CANARY')
}

async function failureOf(pull: Promise<unknown>): Promise<AppError> {
  const err = await pull.then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  expect(err).toBeInstanceOf(AppError)
  return err as AppError
}

describe.each(LIST_FAULTS)('a fetch that receives $name', ({ answer, limits, code, message }) => {
  it(`ends with ${code} and without the credential`, async () => {
    await using server = await answering(answer)
    await using fixture = clientOf(server.url, { limits })

    const err = await failureOf(fixture.pull())

    expect(err.message).toContain(message)
    expect(err).toMatchObject({ code, retryable: RETRYABLE.has(code) })
    expect(err.cause).toBeUndefined()
    expectNoCanary(everythingOf(err))
    expectNoCanary(fixture.logLines.join('\n'))
    expectNoCanary(JSON.stringify(fixture.calls))
    expect(err.message).not.toContain('http://')
    expect(server.requests).toHaveLength(1)
  })
})

it('a redirect target never receives the credential', async () => {
  await using target = await answering((_request, response) => response.end('[]'))
  await using server = await answering((request, response) => {
    response.writeHead(302, { location: `${target.url}${request.url}` })
    response.end()
  })
  await using fixture = clientOf(server.url)

  const err = await failureOf(fixture.pull())

  expect(err.code).toBe('upstream.redirect')
  expect(target.requests).toEqual([])
})

it('the wait that a 429 asks for is computed with the clock of the answer', async () => {
  await using server = await answering((_request, response) => {
    response.writeHead(429, {
      date: 'Sun, 06 Nov 1994 08:49:37 GMT',
      'retry-after': 'Sun, 06 Nov 1994 08:50:07 GMT',
    })
    response.end()
  })
  await using fixture = clientOf(server.url)

  expect(await failureOf(fixture.pull())).toMatchObject({ retryAfterMs: 30_000, status: 429 })
})

it('a connection to a port without a listener fails', async () => {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  await using fixture = clientOf(`http://127.0.0.1:${port}`)

  const err = await failureOf(fixture.pull())

  expect(err).toMatchObject({ code: 'upstream.network', reason: 'ECONNREFUSED' })
  expectNoCanary(everythingOf(err))
})

it('a connection that cannot be made fails long before the deadline', async () => {
  // The server accepts and sends nothing, so TLS never begins.
  const server = createServer((socket) => socket.on('error', () => undefined))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const limits = { connectTimeoutMs: 100 }
  await using fixture = clientOf(`https://127.0.0.1:${port}`, { limits })

  const err = await failureOf(fixture.pull())

  expect(err).toMatchObject({ code: 'upstream.timeout', phase: 'connection' })
  expect(err.message).toBe(
    'routes: no complete answer within 100 ms, still waiting for the connection',
  )
  server.close()
})
