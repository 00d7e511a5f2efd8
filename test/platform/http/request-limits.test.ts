import { once } from 'node:events'
import http from 'node:http'
import { json } from 'node:stream/consumers'
import { Type } from 'typebox'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { ResellerId } from '../../../src/platform/base/reseller-id.ts'
import { createApi } from '../../../src/platform/http/api.ts'
import type { Access } from '../../../src/platform/http/operation.ts'
import { operations } from '../../../src/platform/http/operation.ts'
import { createRateLimit } from '../../../src/platform/http/rate-limit.ts'
import type { RequestLimitOptions } from '../../../src/platform/http/request-limits.ts'
import { listen } from '../../../src/platform/http/server.ts'
import { noTransactions } from '../../support/no-transactions.ts'
import { silentLog } from '../../support/silent-log.ts'

/** Tells the test which handlers run, and ends them when the test says so. */
class Handlers {
  readonly #running: (() => void)[] = []
  readonly #begun: { count: number; resolve: () => void }[] = []
  count = 0

  async run(): Promise<{ done: true }> {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#running.push(resolve)
    this.count += 1
    for (const { count, resolve } of this.#begun) if (this.count >= count) resolve()
    await promise
    return { done: true }
  }

  async begun(count: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#begun.push({ count, resolve })
    if (this.count >= count) resolve()
    await promise
  }

  /** Ends the handler that has run for the longest time. */
  endOne(): void {
    this.#running.shift()?.()
  }
}

const { reseller } = operations<{ readonly handlers: Handlers }>()
const common = { tag: 'Things', summary: 'Things' } as const

const read = reseller({
  ...common,
  id: 'read',
  method: 'GET',
  path: '/things',
  scope: 'read',
  answer: { about: 'Read.' },
  handler: async ({ handlers }) => handlers.run(),
})
const readMuch = reseller({
  ...common,
  id: 'readMuch',
  method: 'GET',
  path: '/texts',
  scope: 'read',
  answer: { about: 'Read.' },
  handler: async () => ({ text: 'x'.repeat(1_000_000) }),
})
const write = reseller({
  ...common,
  id: 'write',
  method: 'POST',
  path: '/things',
  scope: 'watch',
  body: Type.Object({ text: Type.String() }, { additionalProperties: false }),
  answer: { about: 'Written.' },
  handler: async ({ handlers }) => handlers.run(),
})

/** Waits for one thing, then works on another. */
const poll = reseller({
  ...common,
  id: 'poll',
  method: 'GET',
  path: '/polls',
  scope: 'read',
  answer: { about: 'Polled.' },
  handler: async ({ handlers }, { whileWaiting }) => {
    await whileWaiting(() => handlers.run())
    return handlers.run()
  },
})

/** The text of a key is the id of its reseller, and a letter. */
const access: Access = {
  callerOf: async (key) => ({
    kind: 'reseller',
    keyId: 1,
    resellerName: key,
    resellerId: Number.parseInt(key, 10) as ResellerId,
    scopes: ['read', 'watch'],
    limitKey: `key ${key}`,
  }),
}

async function anApi(requestLimits: RequestLimitOptions = {}) {
  const handlers = new Handlers()
  const paused = Promise.withResolvers<void>()
  const server = createApi({
    log: silentLog,
    operations: [read, readMuch, write, poll],
    deps: { handlers },
    transactions: noTransactions(),
    document: {},
    access,
    limit: createRateLimit({
      requestsPerSecond: 1_000,
      nowMs: () => 0,
      pause: async () => paused.resolve(),
    }),
    requestLimits,
  })
  onTestFinished(() => server.close())
  const first = once(server.server, 'request') as Promise<
    [http.IncomingMessage, http.ServerResponse]
  >
  const firstClosed = first.then(([, response]) => once(response, 'close'))
  const firstArrived = first.then(([request]) => once(request, 'readable'))
  const base = await listen(server, { host: '127.0.0.1', port: 0, setting: 'API_PORT' })
  const open = (key: string, args: http.RequestOptions = {}) => {
    const headers = { authorization: `Bearer ${key}`, ...args.headers }
    const { path = '/things' } = args
    const request = http.request(`${base}${path}`, { agent: false, ...args, headers })
    return { request, answer: answerTo(request) }
  }
  return {
    handlers,
    /** Resolves when the server has closed the response of the first request. */
    firstClosed,
    /** Resolves when the server has received the first bytes of the first body. */
    firstArrived,
    /** Resolves when the first request is asked to come back later. */
    refused: paused.promise,
    read: (key: string, path = '/things') => {
      const { request, answer } = open(key, { path })
      request.end()
      return answer
    },
    /** Begins to send a body of this size. `chunked`: without its length. `sends`: only its first bytes. */
    write: (key: string, bytes: number, { chunked = false, sends = bytes, text = '' } = {}) => {
      const length = chunked ? {} : { 'content-length': String(bytes) }
      const type = { 'content-type': 'application/json', connection: 'keep-alive' }
      const headers = { ...type, ...length }
      const { request, answer } = open(key, { method: 'POST', headers })
      const body = text || JSON.stringify({ text: 'x'.repeat(bytes - '{"text":""}'.length) })
      request.flushHeaders()
      request.write(body.slice(0, sends))
      if (sends === bytes) request.end()
      return { request, answer, finish: () => request.end(body.slice(sends)) }
    },
  }
}

async function answerTo(request: http.ClientRequest) {
  request.on('error', () => undefined)
  const [response] = (await once(request, 'response')) as [http.IncomingMessage]
  const { code } = (await json(response)) as { code?: string }
  return { status: response.statusCode, code, retryAfter: response.headers['retry-after'] }
}

async function connectionAfter(request: http.ClientRequest) {
  const [response] = (await once(request, 'response')) as [http.IncomingMessage]
  return response.headers.connection
}

const DONE = { status: 200, code: undefined, retryAfter: undefined }
const TOO_MANY = { status: 429, code: 'access.too_many_requests', retryAfter: '2' }
const BUSY = { status: 503, code: 'server.busy', retryAfter: '2' }

describe('the limits of requests', () => {
  it('a key has a limited number of requests in progress, and other keys have theirs', async () => {
    const { handlers, read } = await anApi({ requestsPerKey: 2 })
    const two = [read('1a'), read('1a')]
    await handlers.begun(2)

    expect(await read('1a')).toEqual(TOO_MANY)
    const other = read('1b')
    await handlers.begun(3)
    handlers.endOne()
    expect(await two[0]).toEqual(DONE)
    const again = read('1a')
    await handlers.begun(4)
    for (let i = 0; i < 3; i += 1) handlers.endOne()

    expect(await Promise.all([two[1], other, again])).toEqual([DONE, DONE, DONE])
  })

  it('two handlers of a key run at a time, and those of other keys do not wait for them', async () => {
    const { handlers, read } = await anApi()
    const three = Array.from({ length: 3 }, () => read('1a'))
    await handlers.begun(2)
    const other = read('2a')
    await handlers.begun(3)
    expect(handlers.count).toBe(3)

    for (let i = 0; i < 2; i += 1) handlers.endOne()
    await handlers.begun(4)
    for (let i = 0; i < 2; i += 1) handlers.endOne()
    expect(await Promise.all([...three, other])).toEqual([DONE, DONE, DONE, DONE])
  })

  it('a handler that waits gives up its place, and takes it again when another is free', async () => {
    const { handlers, read } = await anApi({ waitMs: 1 })
    const poll = read('1a', '/polls')
    await handlers.begun(1)
    const two = [read('1a'), read('1a')]
    await handlers.begun(3)

    handlers.endOne()
    expect(await read('1a')).toEqual(TOO_MANY)
    expect(handlers.count).toBe(3)
    handlers.endOne()
    await handlers.begun(4)
    for (let i = 0; i < 2; i += 1) handlers.endOne()
    expect(await Promise.all([poll, ...two])).toEqual([DONE, DONE, DONE])
  })

  it('the writes of a reseller run one at a time, whatever its keys, and those of another do not wait', async () => {
    const { handlers, write, read } = await anApi({ waitingWrites: 1 })
    const first = write('1a', 100).answer
    await handlers.begun(1)
    const answers = [write('1b', 100).answer, write('1b', 100).answer]
    expect(await Promise.race(answers)).toEqual(TOO_MANY)
    const other = write('2a', 100).answer
    const reading = read('1a')
    await handlers.begun(3)
    for (let i = 0; i < 3; i += 1) handlers.endOne()
    await Promise.all([first, other, reading])
    await handlers.begun(4)
    handlers.endOne()

    expect(await Promise.all(answers)).toContainEqual(DONE)
    expect(handlers.count).toBe(4)
  })

  it('a write waits after a large body of its reseller', async () => {
    const { handlers, write } = await anApi()
    const fromMs = performance.now()
    const large = write('1a', 400_000).answer
    await handlers.begun(1)
    handlers.endOne()
    await large
    const next = write('1b', 100).answer
    await handlers.begun(2)

    expect(performance.now() - fromMs).toBeGreaterThan(350)
    handlers.endOne()
    expect(await next).toEqual(DONE)
  })

  it('a third long answer of a key waits', async () => {
    const { read } = await anApi()
    const fromMs = performance.now()
    await Promise.all([1, 2, 3].map(() => read('1a', '/texts')))

    expect(performance.now() - fromMs).toBeGreaterThan(150)
  })

  it('a write that waits too long is refused', async () => {
    const { handlers, write } = await anApi({ waitMs: 1 })
    const first = write('1a', 100).answer
    await handlers.begun(1)

    expect(await write('1a', 100).answer).toEqual(TOO_MANY)
    handlers.endOne()
    expect(await first).toEqual(DONE)
  })

  it('a client that disconnects keeps its place until its handler has ended', async () => {
    const { handlers, write, firstClosed } = await anApi({ waitMs: 1 })
    const { request, answer } = write('1a', 100)
    answer.catch(() => undefined)
    await handlers.begun(1)
    request.destroy()
    await firstClosed

    expect(await write('1a', 100).answer).toEqual(TOO_MANY)
    handlers.endOne()
    const next = write('1a', 100).answer
    await handlers.begun(2)
    handlers.endOne()
    expect(await next).toEqual(DONE)
  })

  it.each(['[', '{},', '{"a":1,', '{"a":"\\"",'])(
    'a body of %s without end is refused while it arrives',
    async (text) => {
      const { write } = await anApi({ bodyBytes: 200_000 })

      const body = `[${text.repeat(400_000 / text.length)}`
      const { answer } = write('1a', body.length, { chunked: true, text: body })

      expect(await answer).toMatchObject({ status: 400, code: 'request.invalid_body' })
    },
  )

  it('a body that declares more bytes than are free is refused before it is read', async () => {
    const { handlers, refused, write } = await anApi({ bodyBytes: 1_000 })
    const two = [write('1a', 600).answer, write('2a', 350).answer]
    await handlers.begun(2)

    const third = write('3a', 100, { sends: 0 })
    await refused
    handlers.endOne()
    handlers.endOne()
    expect(await Promise.all(two)).toEqual([DONE, DONE])
    third.finish()
    expect(await third.answer).toEqual(BUSY)
    const large = write('3a', 1_000).answer
    await handlers.begun(3)
    handlers.endOne()
    expect(await large).toEqual(DONE)
  })

  it('a body that arrives slowly takes only the bytes that have arrived', async () => {
    const { handlers, write, firstArrived } = await anApi({ bodyBytes: 1_000 })
    const slow = write('1a', 900, { sends: 10 })
    await firstArrived
    const other = write('2a', 950).answer
    await handlers.begun(1)

    handlers.endOne()
    expect(await other).toEqual(DONE)
    slow.finish()
    await handlers.begun(2)
    handlers.endOne()
    expect(await slow.answer).toEqual(DONE)
  })

  it('the bytes of a body of undeclared length are limited as they arrive', async () => {
    const { handlers, write } = await anApi({ bodyBytes: 1_000 })
    const first = write('1a', 600, { chunked: true }).answer
    await handlers.begun(1)

    expect(await write('2a', 402, { chunked: true }).answer).toEqual(BUSY)
    const fitting = write('3a', 400, { chunked: true }).answer
    await handlers.begun(2)
    handlers.endOne()
    handlers.endOne()
    expect(await Promise.all([first, fitting])).toEqual([DONE, DONE])
  })

  it('what is left of a refused body is read before the answer, so that its connection goes on', async () => {
    const { refused, read, write } = await anApi({ bodyBytes: 100 })
    const large = write('1a', 100_000, { sends: 100 })
    const connection = connectionAfter(large.request)
    await refused
    const first = await Promise.race([large.answer, read('2a', '/texts')])
    large.finish()

    expect(first.status).toBe(200)
    expect([await large.answer, await connection]).toEqual([BUSY, 'keep-alive'])
  })

  it('a body that is longer than permitted is not read, and its connection ends', async () => {
    const { write } = await anApi()
    const large = write('1a', 1_000_001, { sends: 100 })
    const connection = await connectionAfter(large.request)

    expect([(await large.answer).status, connection]).toEqual([413, 'close'])
  })

  it('a declared length reserves nothing for a request whose body is never read', async () => {
    const { handlers, write, read } = await anApi({ bodyBytes: 1_000 })
    const first = write('1a', 1_000).answer
    await handlers.begun(1)
    const reading = read('2a')
    await handlers.begun(2)
    handlers.endOne()
    handlers.endOne()

    expect(await Promise.all([first, reading])).toEqual([DONE, DONE])
  })
})
