import { expect, it } from 'vitest'
import { UpstreamContractError, UpstreamNetworkError } from '../../src/upstream/upstream-errors.ts'
import { fetchList } from '../support/fetch-list.ts'
import { clientFor } from './client-fixture.ts'
import { question } from './verify-fixtures.ts'

/** It has a code like a system error, but is not a failure of the network. */
const giveUp = Object.assign(new Error('the caller gave up'), { code: 'ABORT_ERR' })

it('a signal that aborts during the body rejects with its reason, and the client hangs up', async () => {
  const abort = new AbortController()
  const hungUp = Promise.withResolvers<void>()
  await using fixture = await clientFor((_request, response) => {
    response.on('close', hungUp.resolve)
    response.writeHead(200, { 'content-type': 'application/json' })
    response.write('[')
  })

  const call = fetchList(fixture.client, 'routes', {
    signal: abort.signal,
    onProgress: () => abort.abort(giveUp),
  })

  await expect(call).rejects.toBe(giveUp)
  await hungUp.promise
  expect(fixture.calls).toMatchObject([{ outcome: 'aborted', status: 200, bytes: 1 }])
})

it('a question whose caller has given up rejects with the reason', async () => {
  await using fixture = await clientFor(() => undefined)

  const reason = new UpstreamContractError({
    endpoint: 'verify',
    where: 'is no failure of the upstream',
  })

  const asked = fixture.client.verifyFares(question(), { signal: AbortSignal.abort(reason) })

  await expect(asked).rejects.toBe(reason)
})

it('closing the client ends a call in flight', async () => {
  const asked = Promise.withResolvers<void>()
  await using fixture = await clientFor(() => asked.resolve())
  const { signal } = new AbortController()
  const call = fetchList(fixture.client, 'routes', { signal })
  const outcome = call.catch((err: unknown) => err)
  await asked.promise

  await fixture.client.close()

  expect(await outcome).toBeInstanceOf(UpstreamNetworkError)
})
