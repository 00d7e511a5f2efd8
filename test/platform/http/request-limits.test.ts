import { once } from 'node:events'
import http from 'node:http'
import { json } from 'node:stream/consumers'
import { Type } from 'typebox'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import type { ResellerId } from '../../../src/platform/base/reseller-id.ts'
import { createApi } from '../../../src/platform/http/api.ts'
import type { Access } from '../../../src/platform/http/operation.ts'
import { operations } from '../../../src/platform/http/operation.ts'
import type { RequestLimitOptions } from '../../../src/platform/http/request-limits.ts'
import { listen } from '../../../src/platform/http/server.ts'
import { noTransactions } from '../../support/no-transactions.ts'
import { freezeDate, requestLimits } from '../../support/request-limits.ts'
import { silentLog } from '../../support/silent-log.ts'
import { until } from '../../support/until.ts'

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

const { open, reseller } = operations<{ readonly handlers: Handlers }>()
const common = { tag: 'Things', summary: 'Things', answer: { about: 'Done.' } } as const

const ask = open({
  ...common,
  id: 'ask',
  method: 'GET',
  path: '/open',
  scope: 'read',
  handler: async () => ({}),
})
const read = reseller({
  ...common,
  id: 'read',
  method: 'GET',
  path: '/things',
  scope: 'read',
  handler: async ({ handlers }) => handlers.run(),
})
const write = reseller({
  ...common,
  id: 'write',
  method: 'POST',
  path: '/things',
  scope: 'watch',
  body: Type.Object({ text: Type.String() }, { additionalProperties: false }),
  csv: { about: 'Lines.', example: 'text\n' },
  handler: async ({ handlers }, { csv }) => {
    if (csv === undefined) return handlers.run()
    let bytes = 0
    for await (const piece of csv.read()) bytes += piece.length
    return { bytes }
  },
})
/** Waits for one thing, then works on another. */
const poll = reseller({
  ...common,
  id: 'poll',
  method: 'GET',
  path: '/polls',
  scope: 'read',
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

async function anApi(limits: Partial<RequestLimitOptions> = {}) {
  const handlers = new Handlers()
  const server = createApi({
    log: silentLog,
    operations: [ask, read, write, poll],
    deps: { handlers },
    transactions: noTransactions(),
    document: {},
    access,
    ...requestLimits(),
    ...limits,
  })
  onTestFinished(() => server.close())
  const first = once(server.server, 'request') as Promise<
    [http.IncomingMessage, http.ServerResponse]
  >
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
    firstClosed: first.then(([, response]) => once(response, 'close')),
    /** Resolves when the server has received the first request. */
    firstArrived: first,
    read: (key: string, path = '/things') => {
      const { request, answer } = open(key, { path })
      request.end()
      return answer
    },
    /** Begins to send a body. `sends`: only its first bytes. */
    write: (key: string, body: string, { sends = body.length, type = 'application/json' } = {}) => {
      const headers = { 'content-type': type, 'content-length': String(body.length) }
      const { request, answer } = open(key, { method: 'POST', headers })
      request.flushHeaders()
      request.write(body.slice(0, sends))
      if (sends === body.length) request.end()
      return { request, answer }
    },
  }
}

async function answerTo(request: http.ClientRequest) {
  request.on('error', () => undefined)
  const [response] = (await once(request, 'response')) as [http.IncomingMessage]
  const { code, bytes } = (await json(response)) as { code?: string; bytes?: number }
  return { status: response.statusCode, code, bytes, retryAfter: response.headers['retry-after'] }
}

const BODY = '{"text":"x"}'
const DONE = { status: 200 }
const TOO_MANY = { status: 429, code: 'access.too_many_requests', retryAfter: '2' }

describe('the rate limit', () => {
  it('counts each key, and each address without one, in windows of ten seconds', async () => {
    freezeDate()
    const { handlers, read } = await anApi({ requestsPerSecond: 0.2 })
    const readOne = async (key: string) => {
      const answer = read(key)
      await Promise.race([answer, handlers.begun(handlers.count + 1)])
      handlers.endOne()
      return answer
    }

    const answers = [await readOne('1a'), await readOne('1a'), await readOne('1a')]
    vi.advanceTimersByTime(7_000)
    const later = await readOne('1a')

    expect(answers).toMatchObject([DONE, DONE, { ...TOO_MANY, retryAfter: '10' }])
    expect(later).toMatchObject({ ...TOO_MANY, retryAfter: '3' })
    expect(await readOne('1b')).toMatchObject(DONE)
    expect(await read('', '/open')).toMatchObject(DONE)
    vi.advanceTimersByTime(3_000)
    expect(await readOne('1a')).toMatchObject(DONE)
  })
})

describe('a process with too little memory', () => {
  it('refuses requests with a problem and a Retry-After', async () => {
    const { read } = await anApi({ maxHeapBytes: 1 })
    const answers: unknown[] = []

    await until('a request is refused', async () => {
      answers.push(await read('', '/open'))
      return answers.length > 1 && (answers.at(-1) as { status: number }).status !== 200
    })

    expect(answers.at(-1)).toMatchObject({ status: 503, code: 'server.busy', retryAfter: '2' })
  })
})

describe('the places of a caller', () => {
  it('two handlers of a key run at a time, others wait, and further ones are refused', async () => {
    const { handlers, read } = await anApi({ maxWaiting: 1 })
    const two = [read('1a'), read('1a')]
    await handlers.begun(2)
    const further = [read('1a'), read('1a')]
    const other = read('1b')
    await handlers.begun(3)

    expect(await Promise.race(further)).toMatchObject(TOO_MANY)
    expect(handlers.count).toBe(3)
    for (let i = 0; i < 3; i += 1) handlers.endOne()
    await handlers.begun(4)
    handlers.endOne()
    const answers = await Promise.all([...two, ...further, other])
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 200, 200, 200, 429])
  })

  it('the writes of a reseller run one at a time, whatever its keys, and those of another do not wait', async () => {
    const { handlers, write, read } = await anApi()
    const first = write('1a', BODY).answer
    await handlers.begun(1)
    const second = write('1b', BODY).answer
    const others = [write('2a', BODY).answer, read('1a')]
    await handlers.begun(3)
    for (let i = 0; i < 3; i += 1) handlers.endOne()
    expect(await Promise.all([first, ...others])).toMatchObject([DONE, DONE, DONE])
    await handlers.begun(4)
    handlers.endOne()

    expect(await second).toMatchObject(DONE)
    expect(handlers.count).toBe(4)
  })

  it('a body that is refused keeps its place for a time, which others do not wait for', async () => {
    const { handlers, write } = await anApi({ refusalMs: 60_000, waitMs: 100 })
    expect(await write('1a', '[').answer).toMatchObject({ status: 400 })

    const same = write('1a', BODY).answer.then(() => 'of the same reseller')
    const other = write('2a', BODY).answer.then(() => 'of another')
    await handlers.begun(1)
    handlers.endOne()

    // The first one is refused, and that is held back for longer than the test.
    expect(await Promise.race([same, other])).toBe('of another')
  })

  it.each(['application/json', 'text/csv'])(
    // Fault: A client disconnects while it sends a body.
    'a client that disconnects in its body of %s gives its place back',
    async (type) => {
      const { handlers, write, firstArrived, firstClosed } = await anApi()
      const { request, answer } = write('1a', BODY, { sends: 3, type })
      answer.catch(() => undefined)
      await firstArrived
      const next = write('1a', BODY).answer
      request.destroy()
      await firstClosed

      await handlers.begun(1)
      handlers.endOne()
      expect(await next).toMatchObject(DONE)
    },
  )
})

describe('a body', () => {
  it.each([
    ['application/json', 1_000_001],
    ['text/csv', 20_000_001],
  ])('of %s with %d bytes is refused before it is read', async (type, bytes) => {
    const { write } = await anApi()

    const { answer } = write('1a', 'x'.repeat(bytes), { sends: 100, type })

    expect(await answer).toMatchObject({ status: 413, code: 'request.too_large' })
  })

  it('of twenty megabytes of CSV comes to its handler in pieces', async () => {
    const { write } = await anApi()

    const { answer } = write('1a', 'x'.repeat(20_000_000), { type: 'text/csv' })

    expect(await answer).toMatchObject({ status: 200, bytes: 20_000_000 })
  })

  // Fault: A megabyte of brackets, or of empty objects.
  it.each(['[', '{},', '{"a":1,'])('of a megabyte of %s is refused', async (text) => {
    const { write } = await anApi()

    const { answer } = write('1a', `[${text.repeat(999_000 / text.length)}`)

    expect(await answer).toMatchObject({ status: 400, code: 'request.invalid_body' })
  })
})
