import { Type } from 'typebox'
import { describe, expect, it, onTestFinished } from 'vitest'
import { AppError } from '../../../src/platform/base/errors.ts'
import type { Scope } from '../../../src/platform/base/kinds.ts'
import type { ResellerId } from '../../../src/platform/base/reseller-id.ts'
import { createApi } from '../../../src/platform/http/api.ts'
import type { Access, Caller } from '../../../src/platform/http/operation.ts'
import { type Operation, operations } from '../../../src/platform/http/operation.ts'
import { isNotModified } from '../../../src/platform/http/responses.ts'
import { collectLog } from '../../support/collected-log.ts'
import { noTransactions } from '../../support/no-transactions.ts'
import { requestLimits } from '../../support/request-limits.ts'

/** The dependencies of these handlers, instead of a database. */
interface Shelf {
  readonly things: readonly string[]
}
const SHELF: Shelf = { things: ['lamp'] }
const { shared, reseller, operator } = operations<Shelf>()

const SHAPE = { additionalProperties: false }
const common = { tag: 'Things', summary: 'Things' } as const

const own = reseller({
  ...common,
  id: 'own',
  method: 'GET',
  path: '/own/{thingId}',
  scope: 'read',
  params: Type.Object({ thingId: Type.Integer({ minimum: 1, maximum: 9 }) }, SHAPE),
  answer: { about: 'A thing.' },
  handler: async ({ things, resellerId }, { params }) => ({ things, resellerId, ...params }),
})

const make = reseller({
  ...common,
  id: 'make',
  method: 'POST',
  path: '/own',
  scope: 'watch',
  body: Type.Object({ name: Type.String({ maxLength: 5 }) }, SHAPE),
  answer: { about: 'Made.', status: 201 },
  handler: async (_deps, { body }) => ({ made: body.name }),
})

const clear = operator({
  ...common,
  id: 'clear',
  method: 'DELETE',
  path: '/things',
  scope: 'operate',
  answer: { about: 'Deleted.', status: 204 },
  handler: async () => undefined,
})

const SOME: readonly Operation<Shelf>[] = [own, make, clear]

/** The text of a key is its kind and its scopes. */
const access: Access = {
  callerOf: async (key) => {
    const [kind, ...scopes] = key.split('-') as [string, ...Scope[]]
    const caller = { keyId: 1, scopes, limitKey: key }
    if (kind === 'operator') return { kind, ...caller } satisfies Caller
    return {
      kind: 'reseller',
      resellerId: 7 as ResellerId,
      resellerName: 'ana',
      ...caller,
    }
  },
}

function anApi(list = SOME) {
  const { log, lines } = collectLog()
  const server = createApi({
    log,
    operations: list,
    deps: SHELF,
    transactions: noTransactions(),
    document: {},
    access,
    ...requestLimits(),
  })
  onTestFinished(() => server.close())
  const ask = async (
    method: 'GET' | 'POST' | 'DELETE',
    url: string,
    {
      key = 'reseller-read-watch',
      ...rest
    }: { key?: string; payload?: object | string; headers?: object } = {},
  ) =>
    server.inject({
      method,
      url,
      ...rest,
      headers: { authorization: `Bearer ${key}`, ...rest.headers },
    })
  return { ask, lines }
}

/** A shared operation with this handler. */
function doing(handler: Parameters<typeof shared>[0]['handler']): Operation<Shelf> {
  return shared({
    ...common,
    id: 'doing',
    method: 'GET',
    path: '/doing',
    scope: 'read',
    answer: { about: 'Done.' },
    handler,
  })
}

describe('an operation', () => {
  it.each([
    [
      '{"name":',
      'the body is not JSON: Unexpected end of JSON input. /docs has an example of each body',
    ],
    [
      'name=CANARY',
      "the body is not JSON: Unexpected token 'a'. /docs has an example of each body",
    ],
    [
      '{"name":"CANARY",}',
      'the body is not JSON: Expected double-quoted property name in JSON at position 17 (line 1 column 18). /docs has an example of each body',
    ],
    ['{"__proto__":{}}', 'no object may have the name __proto__ or constructor.prototype'],
    [Buffer.from('{"name":"caf\xe9"}', 'latin1'), 'the body is not UTF-8'],
    ['', 'a body of JSON is needed'],
  ])('the problem of the unreadable body %j says what is wrong', async (payload, detail) => {
    const { ask } = anApi()

    const answer = await ask('POST', '/own', {
      payload,
      headers: { 'content-type': 'application/json' },
    })

    expect(answer.json()).toMatchObject({ status: 400, code: 'request.invalid_body', detail })
    expect(answer.payload).not.toContain('CANARY')
  })

  it('a body that is too large is answered with the limit, its size and what to do', async () => {
    const { ask } = anApi()

    const answer = await ask('POST', '/own', {
      payload: JSON.stringify({ name: 'x'.repeat(1_000_000) }),
      headers: { 'content-type': 'application/json' },
    })

    expect(answer.json()).toMatchObject({
      code: 'request.too_large',
      detail:
        'the limit is 1000000 bytes, and the body has 1000011: divide it into several requests',
    })
  })

  it('a slash at the end of an address means nothing', async () => {
    const { ask } = anApi()

    expect((await ask('GET', '/own/3/')).json()).toMatchObject({ thingId: 3 })
  })

  it.each(['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data'])(
    'a body of type %s, which a foreign page can send without preflight, is refused',
    async (type) => {
      const { ask } = anApi()

      const answer = await ask('POST', '/own', {
        payload: '{"name":"lamp"}',
        headers: { 'content-type': type },
      })

      expect(answer.json()).toMatchObject({
        code: 'request.unsupported_type',
        detail: `the type of the body is "${type}": send "Content-Type: application/json", or text/csv where the operation takes it`,
      })
    },
  )
})

class FullError extends AppError {
  override readonly name = 'FullError'
  override readonly code = 'not_found'
  override readonly retryable = true
  readonly retryAfterMs = 1_200
}

describe('a handler that throws', () => {
  it('a thrown error with a known code is answered with its message and its Retry-After', async () => {
    const failing = doing(() => Promise.reject(new FullError('the shelf is full')))

    const answer = await anApi([failing]).ask('GET', '/doing')

    expect(answer.json()).toMatchObject({ code: 'not_found', detail: 'the shelf is full' })
    expect(answer.headers['retry-after']).toBe('2')
  })
})

describe('conditional requests', () => {
  const MODIFIED = new Date('2026-01-31T12:00:00.900Z')
  const versioned = doing(async (_deps, { request, reply }) => {
    if (isNotModified(request, reply, { tag: 'v1', lastModified: MODIFIED })) {
      return reply.code(304).send()
    }
    return { whole: true }
  })

  it.each([
    [{}, 200],
    [{ 'if-none-match': 'W/"v1"' }, 304],
    [{ 'if-none-match': '"v0", "v1"' }, 304],
    [{ 'if-none-match': '*' }, 304],
    [{ 'if-none-match': '"v2"' }, 200],
    [{ 'if-none-match': 'v1' }, 200],
    [{ 'if-modified-since': 'Sat, 31 Jan 2026 12:00:00 GMT' }, 304],
    [{ 'if-modified-since': 'Sat, 31 Jan 2026 11:59:59 GMT' }, 200],
    // This date is from the client's clock. At that time it may have received the previous version.
    [{ 'if-modified-since': 'Sat, 31 Jan 2026 12:00:01 GMT' }, 200],
    [{ 'if-modified-since': 'yesterday' }, 200],
    // The tag takes precedence.
    [{ 'if-none-match': '"v2"', 'if-modified-since': 'Sat, 31 Jan 2026 12:00:00 GMT' }, 200],
  ])('a request with the headers %j is answered by %d', async (headers, status) => {
    const answer = await anApi([versioned]).ask('GET', '/doing', { headers })

    expect(answer.statusCode).toBe(status)
    expect(answer.headers).toMatchObject({
      etag: 'W/"v1"',
      'last-modified': 'Sat, 31 Jan 2026 12:00:00 GMT',
      'cache-control': 'private, no-cache',
    })
    expect(answer.body === '').toBe(status === 304)
  })
})
