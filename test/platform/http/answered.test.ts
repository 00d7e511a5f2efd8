import { Type } from 'typebox'
import { expect, it, onTestFinished } from 'vitest'
import { type Answered, createApi } from '../../../src/platform/http/api.ts'
import type { Access } from '../../../src/platform/http/operation.ts'
import { operations } from '../../../src/platform/http/operation.ts'
import { noTransactions } from '../../support/no-transactions.ts'
import { requestLimits } from '../../support/request-limits.ts'
import { silentLog } from '../../support/silent-log.ts'

const readThing = operations<object>().shared({
  id: 'readThing',
  method: 'GET',
  path: '/things/{thingId}',
  tag: 'Things',
  summary: 'A thing',
  scope: 'read',
  params: Type.Object({ thingId: Type.Integer() }, { additionalProperties: false }),
  answer: { about: 'A thing.' },
  example: { params: { thingId: '1' } },
  handler: async () => ({}),
})

const access: Access = {
  callerOf: async () => ({ kind: 'operator', keyId: 1, scopes: ['read'], limitKey: 'key 1' }),
}

/** The requests that the server reported. */
async function answeredOf(paths: readonly string[]): Promise<Answered[]> {
  const answered: Answered[] = []
  const server = createApi({
    log: silentLog,
    operations: [readThing],
    deps: {},
    transactions: noTransactions(),
    document: {},
    access,
    ...requestLimits(),
    onAnswered: (one) => answered.push(one),
  })
  onTestFinished(() => server.close())
  for (const url of paths) {
    await server.inject({ url, headers: { authorization: 'Bearer fwk_x' } })
  }
  return answered
}

it('every request reports its operation, status, problem and duration, but not its address', async () => {
  const answered = await answeredOf([
    '/things/1',
    '/things/x',
    '/things/1?accessToken=fwk_x',
    '/nowhere',
    '/openapi.json',
  ])

  expect(answered.map(({ operation, status, code }) => `${operation} ${status} ${code}`)).toEqual([
    'readThing 200 ',
    'readThing 400 request.invalid_parameter',
    'readThing 400 request.key_in_query',
    'none 404 not_found',
    'none 200 ',
  ])
  expect(answered.every(({ durationMs }) => durationMs >= 0)).toBe(true)
})
