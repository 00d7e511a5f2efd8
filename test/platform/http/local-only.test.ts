import http from 'node:http'
import { json } from 'node:stream/consumers'
import { expect, it, onTestFinished } from 'vitest'
import { assertLocalCaller } from '../../../src/platform/http/local-only.ts'
import { startTestSandbox } from '../../sandbox/support.ts'

const isRefused = (headers: { host?: string; origin?: string }) =>
  assertLocalCaller({ headers }).then(
    () => false,
    () => true,
  )

it.each([
  [{ host: 'localhost:9091' }, false],
  [{ host: '[::1]:9091', origin: 'http://[::1]:9091' }, false],
  [{}, false],
  [{ host: 'evil.example:9091' }, true],
  [{ host: 'localhost.evil.example' }, true],
  [{ host: 'localhost:9091', origin: 'http://localhost:8080' }, true],
  [{ host: 'localhost:9091', origin: 'https://evil.example' }, true],
  [{ host: 'localhost:9091', origin: 'null' }, true],
])('a request with %o is refused: %s', async (headers, refused) => {
  expect(await isRefused(headers)).toBe(refused)
})

it('the sandbox obeys no page of another site', async () => {
  const sandbox = await startTestSandbox()
  onTestFinished(() => sandbox.close())
  const send = async (headers: Record<string, string>) => {
    const request = http.request(`${sandbox.url}/sandbox/world`, { headers }).end()
    const response = await new Promise<http.IncomingMessage>((resolve) =>
      request.once('response', resolve),
    )
    return { status: response.statusCode, body: await json(response) }
  }

  expect(await send({ host: 'evil.example' })).toMatchObject({
    status: 400,
    body: { parameter: 'Host' },
  })
  expect(await send({ origin: 'https://evil.example' })).toMatchObject({ status: 400 })
  expect(await send({})).toMatchObject({ status: 200 })
})
