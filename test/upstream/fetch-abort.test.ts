import { getEventListeners } from 'node:events'
import { expect, it } from 'vitest'
import { createHttpExchange } from '../../src/upstream/transport/http-exchange.ts'
import { UpstreamNetworkError } from '../../src/upstream/upstream-errors.ts'
import { DEFAULT_LIMITS } from '../../src/upstream/upstream-limits.ts'
import { answering, json } from './answering-server.ts'
import { clientOf } from './client-fixture.ts'

/** With a code like those of the system, and yet no fault of the network. */
const giveUp = Object.assign(new Error('the caller gave up'), { code: 'ABORT_ERR' })

it('rejects with the reason of a signal that has aborted, without a call', async () => {
  await using server = await answering((_request, response) => response.end())
  await using fixture = clientOf(server.url)

  const call = fixture.client.fetchRouteList('routes', { signal: AbortSignal.abort(giveUp) })

  await expect(call).rejects.toBe(giveUp)
  expect(server.requests).toEqual([])
  expect(fixture.calls).toMatchObject([{ outcome: 'aborted' }])
})

it('rejects with the reason of a signal that aborts in mid-body, and hangs up', async () => {
  const abort = new AbortController()
  const hungUp = Promise.withResolvers<void>()
  await using server = await answering((_request, response) => {
    response.on('close', hungUp.resolve)
    response.writeHead(200, { 'content-type': 'application/json' })
    response.write('[')
  })
  await using fixture = clientOf(server.url)

  const call = fixture.client.fetchRouteList('routes', {
    signal: abort.signal,
    onProgress: () => abort.abort(giveUp),
  })

  await expect(call).rejects.toBe(giveUp)
  await hungUp.promise
  expect(fixture.calls).toMatchObject([{ outcome: 'aborted', status: 200, bytes: 1 }])
})

it('rejects with the reason of a signal that aborts while an error is read', async () => {
  const abort = new AbortController()
  await using server = await answering((_request, response) => {
    response.writeHead(500)
    response.write('it is all because')
  })
  const exchange = createHttpExchange({
    baseUrl: server.url,
    accessToken: undefined,
    ...DEFAULT_LIMITS,
  })

  const call = exchange.get({
    endpoint: 'routes',
    path: '/',
    deadlineMs: 10_000,
    maxBodyBytes: 1_000,
    signal: abort.signal,
    wants: () => {
      abort.abort(giveUp)
      return false
    },
  })

  await expect(call).rejects.toBe(giveUp)
  await exchange.close()
})

it('passes on what a progress callback throws, as the bug that it is', async () => {
  const bug = new TypeError('bug')
  await using server = await answering(json('[]'))
  await using fixture = clientOf(server.url)

  const call = fixture.client.fetchRouteList('routes', {
    signal: new AbortController().signal,
    onProgress: () => {
      throw bug
    },
  })

  await expect(call).rejects.toBe(bug)
  expect(fixture.calls).toMatchObject([{ outcome: 'internal' }])
})

it('ends a call in flight when the client closes', async () => {
  const asked = Promise.withResolvers<void>()
  await using server = await answering(() => asked.resolve())
  await using fixture = clientOf(server.url)
  const { signal } = new AbortController()
  const call = fixture.client.fetchRouteList('routes', { signal })
  const outcome = call.catch((err: unknown) => err)
  await asked.promise

  await fixture.client.close()

  expect(await outcome).toBeInstanceOf(UpstreamNetworkError)
})

it('leaves no listener on the signal of a caller that goes on', async () => {
  await using server = await answering((_request, response) => response.destroy())
  await using fixture = clientOf(server.url)
  const { signal } = new AbortController()

  const call = fixture.client.fetchRouteList('routes', { signal })

  await expect(call).rejects.toBeInstanceOf(UpstreamNetworkError)
  expect(getEventListeners(signal, 'abort')).toEqual([])
})
