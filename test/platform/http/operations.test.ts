import { Type } from 'typebox'
import { describe, expect, it, onTestFinished } from 'vitest'
import { AppError } from '../../../src/platform/base/errors.ts'
import type { Scope } from '../../../src/platform/base/kinds.ts'
import type { ResellerId } from '../../../src/platform/base/reseller-id.ts'
import { createApi } from '../../../src/platform/http/api.ts'
import type { Access, Caller } from '../../../src/platform/http/operation.ts'
import { type Operation, operations } from '../../../src/platform/http/operation.ts'
import { ProblemError } from '../../../src/platform/http/problems.ts'
import { isNotModified, streamText } from '../../../src/platform/http/responses.ts'
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
    ['{"name":', 'the body is not JSON, or has the name __proto__'],
    ['{"__proto__":{}}', 'the body is not JSON, or has the name __proto__'],
    [Buffer.from('{"name":"caf\xe9"}', 'latin1'), 'the body is not UTF-8'],
    ['', 'a body of JSON is needed'],
  ])('the problem of the unreadable body %j says what is wrong', async (payload, detail) => {
    const { ask } = anApi()

    const answer = await ask('POST', '/own', {
      payload,
      headers: { 'content-type': 'application/json' },
    })

    expect(answer.json()).toMatchObject({ status: 400, code: 'request.invalid_body', detail })
  })

  it('an operation without a body ignores the content type of an empty one', async () => {
    const { ask } = anApi()

    const answer = await ask('DELETE', '/things', {
      key: 'operator-operate',
      headers: { 'content-type': 'application/json' },
    })

    expect(answer.statusCode).toBe(204)
  })

  it.each(['Basic YTpi', 'Bearer', '', 'fwk_x'])(
    'a request with Authorization %j gets a 401 that asks for a bearer key',
    async (authorization) => {
      const { ask } = anApi()

      const answer = await ask('GET', '/own/3', { headers: { authorization } })

      expect(answer.json()).toMatchObject({
        status: 401,
        code: 'access.no_key',
        detail: 'send a key as "Authorization: Bearer …"',
      })
    },
  )

  it.each(['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data'])(
    'a body of type %s, which a foreign page can send without preflight, is refused',
    async (type) => {
      const { ask } = anApi()

      const answer = await ask('POST', '/own', {
        payload: '{"name":"lamp"}',
        headers: { 'content-type': type },
      })

      expect(answer.json()).toMatchObject({ code: 'request.unsupported_type' })
    },
  )

  it('a caller without the scope is refused before its body is read', async () => {
    const { ask } = anApi()

    const answer = await ask('POST', '/own', { key: 'reseller-read', payload: 'x'.repeat(500) })

    expect(answer.json()).toMatchObject({ code: 'access.missing_scope' })
  })
})

class FullError extends AppError {
  override readonly name = 'FullError'
  override readonly code = 'not_found'
  override readonly retryable = true
  readonly retryAfterMs = 1_200
}

class UnlistedError extends AppError {
  override readonly name = 'UnlistedError'
  override readonly code = 'unlisted.error'
}

describe('a handler that throws', () => {
  it('a thrown error with a known code is answered with its message and its Retry-After', async () => {
    const failing = doing(() => Promise.reject(new FullError('the shelf is full')))

    const answer = await anApi([failing]).ask('GET', '/doing')

    expect(answer.json()).toMatchObject({ code: 'not_found', detail: 'the shelf is full' })
    expect(answer.headers['retry-after']).toBe('2')
  })

  it.each([new UnlistedError('inner workings'), new Error('inner workings')])(
    'any other thrown error is logged, and its message is not shown',
    async (thrown) => {
      const { ask, lines } = anApi([doing(() => Promise.reject(thrown))])

      const answer = await ask('GET', '/doing')

      expect(answer.json()).toMatchObject({ status: 500, code: 'internal' })
      expect(answer.body).not.toContain('inner workings')
      expect(lines.join('')).toContain('inner workings')
    },
  )

  it('an error before the first part of a text is answered as a problem', async () => {
    async function* parts(): AsyncGenerator<string, void> {
      yield* []
      throw new ProblemError('not_found')
    }

    const answer = await anApi([doing((_deps, { reply }) => streamText(reply, parts()))]).ask(
      'GET',
      '/doing',
    )

    expect(answer.json()).toMatchObject({ code: 'not_found' })
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
