import { getEventListeners } from 'node:events'
import { expect, it } from 'vitest'
import { FARES_PROVIDER } from '../../src/upstream/fares/fares-provider.ts'
import { createHttpExchange, DEFAULT_LIMITS } from '../../src/upstream/transport/http-exchange.ts'
import { UpstreamNetworkError } from '../../src/upstream/upstream-errors.ts'
import { fetchList } from '../support/fetch-list.ts'
import { answering, json } from './answering-server.ts'
import { clientOf } from './client-fixture.ts'

/** It has a code like a system error, but is not a failure of the network. */
const giveUp = Object.assign(new Error('the caller gave up'), { code: 'ABORT_ERR' })

it('a signal that has already aborted rejects with its reason, without a call', async () => {
  await using server = await answering((_request, response) => response.end())
  await using fixture = clientOf(server.url)

  const call = fetchList(fixture.client, 'routes', { signal: AbortSignal.abort(giveUp) })

  await expect(call).rejects.toBe(giveUp)
  expect(server.requests).toEqual([])
  expect(fixture.calls).toMatchObject([{ outcome: 'aborted' }])
})

it('a signal that aborts during the body rejects with its reason, and the client hangs up', async () => {
  const abort = new AbortController()
  const hungUp = Promise.withResolvers<void>()
  await using server = await answering((_request, response) => {
    response.on('close', hungUp.resolve)
    response.writeHead(200, { 'content-type': 'application/json' })
    response.write('[')
  })
  await using fixture = clientOf(server.url)

  const call = fetchList(fixture.client, 'routes', {
    signal: abort.signal,
    onProgress: () => abort.abort(giveUp),
  })

  await expect(call).rejects.toBe(giveUp)
  await hungUp.promise
  expect(fixture.calls).toMatchObject([{ outcome: 'aborted', status: 200, bytes: 1 }])
})

it('a signal that aborts while an error body is read rejects with its reason', async () => {
  const abort = new AbortController()
  await using server = await answering((_request, response) => {
    response.writeHead(500)
    response.write('it is all because')
  })
  const exchange = createHttpExchange({
    baseUrl: server.url,
    accessToken: undefined,
    placeToken: FARES_PROVIDER.placeToken,
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

it('an error of a progress callback is thrown unchanged, as a bug of ours', async () => {
  const bug = new TypeError('bug')
  await using server = await answering(json('[]'))
  await using fixture = clientOf(server.url)

  const call = fetchList(fixture.client, 'routes', {
    signal: new AbortController().signal,
    onProgress: () => {
      throw bug
    },
  })

  await expect(call).rejects.toBe(bug)
  expect(fixture.calls).toMatchObject([{ outcome: 'internal' }])
})

it('closing the client ends a call in flight', async () => {
  const asked = Promise.withResolvers<void>()
  await using server = await answering(() => asked.resolve())
  await using fixture = clientOf(server.url)
  const { signal } = new AbortController()
  const call = fetchList(fixture.client, 'routes', { signal })
  const outcome = call.catch((err: unknown) => err)
  await asked.promise

  await fixture.client.close()

  expect(await outcome).toBeInstanceOf(UpstreamNetworkError)
})

it('a failed call leaves no listener on the caller’s signal', async () => {
  await using server = await answering((_request, response) => response.destroy())
  await using fixture = clientOf(server.url)
  const { signal } = new AbortController()

  const call = fetchList(fixture.client, 'routes', { signal })

  await expect(call).rejects.toBeInstanceOf(UpstreamNetworkError)
  expect(getEventListeners(signal, 'abort')).toEqual([])
})
