import { createHash } from 'node:crypto'
import { once } from 'node:events'
import http from 'node:http'
import { json } from 'node:stream/consumers'
import { describe, expect } from 'vitest'
import { type Db, sql } from '../../src/platform/db/database.ts'
import { PROBLEM_TYPE } from '../../src/platform/http/problems.ts'
import { propertiesOf } from '../../src/platform/http/read-parameters.ts'
import { createApiKey, newKey } from '../../src/resellers/api-keys.ts'
import { createReseller } from '../../src/resellers/resellers.ts'
import { fanOutAll } from '../delivery/delivery-fixtures.ts'
import { available, passSeconds, record } from '../fares/fare-fixtures.ts'
import { type Answer, ask, bearer, newKeyText, startApi } from '../support/api-server.ts'
import { collectLog } from '../support/collected-log.ts'
import { freezeDate } from '../support/request-limits.ts'
import { type AnyOperation, call, EVERY, rightKey } from './calls.ts'
import { callsOf, fareOf, watch } from './reseller-calls.ts'
import type { Seed } from './seed.ts'
import { it } from './shared-api.ts'

const OPERATIONS = EVERY.map(([, operation]) => operation)
const MEGABYTE = 1_000_000
const INVALID = 'request.invalid_cursor'

const parametersOf = ({ query }: AnyOperation) => Object.keys(propertiesOf(query))
const having = (parameter: string) =>
  OPERATIONS.filter((operation) => parametersOf(operation).includes(parameter))

/** The address of an operation's example. */
function addressOf({ path, example }: AnyOperation): string {
  return path.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
    encodeURIComponent(example.params?.[name] ?? 'x'),
  )
}

/** The text with another last character. */
function withAnotherEnd(text: string): string {
  return text.slice(0, -1) + (text.endsWith('_') ? '-' : '_')
}

function expectProblem(answer: Answer, status: number, code: string, what: string): void {
  expect({ status: answer.status, code: answer.body.code }, what).toEqual({ status, code })
  expect(answer.headers.get('content-type'), what).toContain(PROBLEM_TYPE)
}

describe('requests that every operation refuses', () => {
  it('every operation refuses a parameter that is given twice, except a list', async ({ api }) => {
    const { seed, base } = api

    for (const operation of OPERATIONS) {
      const single = Object.entries(propertiesOf(operation.query)).find(
        ([, { type }]) => type !== 'array',
      )
      if (single === undefined) continue
      const [name] = single
      const key = rightKey(seed, operation)
      const answer = await call(base, operation, { key, query: `${name}=1&${name}=2` })
      expectProblem(answer, 400, 'request.doubled_parameter', `${operation.id} ${name}`)
      expect(answer.body.parameter).toBe(name)
    }
  })

  it('every list refuses a cursor that is malformed, forged or of another list', async ({
    api,
  }) => {
    const { seed, base } = api
    const paged = having('cursor')
    const given = new Map<AnyOperation, string>()
    for (const operation of paged) {
      const key = rightKey(seed, operation)
      const { body } = await call(base, operation, {
        key,
        query: { ...operation.example.query, limit: '1' },
      })
      if (typeof body.next === 'string') given.set(operation, body.next)
    }

    expect(given.size).toBeGreaterThan(2)
    for (const operation of paged) {
      const foreign = [...given].filter(([other]) => other !== operation).map(([, next]) => next)
      const own = given.get(operation)
      const changed = own === undefined ? [] : [withAnotherEnd(own), `x${own}`, `${own}.${own}x`]
      for (const cursor of ['', 'MQ.AAAAAAAAAAAA', '💥', ...foreign.slice(0, 2), ...changed]) {
        const key = rightKey(seed, operation)
        const answer = await call(base, operation, {
          key,
          query: { ...operation.example.query, limit: '1', cursor },
        })
        expectProblem(answer, 400, INVALID, `${operation.id} ${cursor}`)
      }
    }
  })

  it('every operation refuses a body that is too large before it has arrived', async ({ api }) => {
    const { seed, base } = api

    for (const operation of OPERATIONS.filter(({ method }) => method !== 'GET')) {
      const key = rightKey(seed, operation)
      const length = MEGABYTE + 1
      const known = await announce(base, operation, bearer(key), length)
      const unknown = await announce(base, operation, {}, length)
      const isOpen = operation.audience === 'everybody'
      const TOO_LARGE = [413, 'request.too_large']
      expect(known, operation.id).toEqual(TOO_LARGE)
      expect(unknown, operation.id).toEqual(isOpen ? TOO_LARGE : [401, 'access.no_key'])
    }
  })

  it('every operation refuses a caller over the rate limit and shows the limit in its headers', async ({
    seeded: { db, seed },
  }) => {
    freezeDate()
    const { alpha } = seed
    const base = await startApi(db, { requestsPerSecond: 0.1 })

    for (const operation of OPERATIONS) {
      const resellerId = operation.audience === 'operators' ? null : alpha
      const { text: key } = await createApiKey(db, { resellerId })
      const first = await call(base, operation, { key })
      const second = await call(base, operation, { key })

      expect(first.headers.get('ratelimit-policy'), operation.id).toMatch(
        /^"default";q=1;w=10(, "on-demand";q=10;w=5)?$/,
      )
      expect(first.headers.get('ratelimit'), operation.id).toBe('"default";r=0;t=10')
      expectProblem(second, 429, 'access.too_many_requests', operation.id)
      expect(second.headers.get('retry-after'), operation.id).toBe('10')
    }
  })
})

/** Adds to the seed, so that most lists have several items. */
async function grow(db: Db, base: string, { alpha, keys }: Seed): Promise<void> {
  const fareId = await fareOf(db, '101')
  const [own, operator] = [callsOf(base, keys.alpha), callsOf(base, keys.operator)]
  for (const name of ['autumn', 'spring']) {
    await createReseller(db, name)
    await createApiKey(db, { resellerId: alpha })
    await operator.send('PATCH', `/resellers/${name}`, { share: 2 })
    await own.send('POST', '/watch-lists', { name })
  }
  const watches = ['A-2', 'A-3'].map((reference) => watch(reference, { returnFlightId: reference }))
  await own.send('POST', '/watch-lists/summer/watches', { watches })
  for (const price of ['150.00', '100.00']) {
    await passSeconds(db, 60)
    for (const _ of [1, 2]) {
      await passSeconds(db, 20)
      await record(db, fareId, new Date(), available(price))
    }
  }
  await fanOutAll(db)
}

it('every list that is read item by item shows what it shows at once', async ({
  seeded: { db, seed },
}) => {
  const base = await startApi(db)
  await grow(db, base, seed)
  const long: string[] = []

  for (const operation of having('cursor')) {
    const read = async (query: Record<string, string>) => {
      const { body } = await call(base, operation, {
        key: rightKey(seed, operation),
        query: { ...operation.example.query, ...query },
      })
      return body as { items: unknown[]; next: string | null }
    }
    const { items } = await read({ limit: '100' })
    const seen: unknown[] = []
    for (let cursor: string | null | undefined; cursor !== null; ) {
      const page = await read({ limit: '1', ...(cursor === undefined ? {} : { cursor }) })
      expect(page.items.length, operation.id).toBeLessThanOrEqual(1)
      seen.push(...page.items)
      cursor = page.next
    }

    expect(seen, operation.id).toEqual(items)
    if (seen.length > 1) long.push(operation.id)
  }
  expect(long.length).toBeGreaterThan(12)
})

it('every response forbids browsers to run, frame, store or read it', async ({
  seeded: { db, seed },
}) => {
  const base = await startApi(db)

  for (const operation of OPERATIONS) {
    const headers = { origin: 'https://evil.example' }
    const right = await call(base, operation, { key: rightKey(seed, operation), headers })
    const none = await call(base, operation, { headers })
    const preflight = await ask(`${base}${addressOf(operation)}`, {
      method: 'OPTIONS',
      headers: { ...headers, 'access-control-request-method': operation.method },
    })

    for (const answer of [right, none, preflight]) {
      const headers = Object.fromEntries(answer.headers)
      const isPage = headers['content-type']?.startsWith('text/html') === true
      expect(headers, operation.id).toMatchObject({
        'x-content-type-options': 'nosniff',
        'content-security-policy': isPage
          ? "default-src 'none'; style-src 'unsafe-inline'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'"
          : "default-src 'none'; frame-ancestors 'none'",
        'referrer-policy': 'no-referrer',
        'cross-origin-resource-policy': 'same-origin',
        'cache-control': expect.stringMatching(/^(no-store|private, no-cache)$/) as string,
      })
      expect(headers.vary, operation.id).toContain('authorization')
      expect(Object.keys(headers).filter((name) => name.startsWith('access-control'))).toEqual([])
    }
    expect(preflight.status, operation.id).toBe(405)
  }
})

/** Announces a body and sends none of it, so the answer does not depend on the body. */
async function announce(
  base: string,
  operation: AnyOperation,
  headers: Record<string, string>,
  length: number,
): Promise<unknown[]> {
  const request = http.request(`${base}${addressOf(operation)}`, {
    method: operation.method,
    headers: { ...headers, 'content-type': 'application/json', 'content-length': String(length) },
  })
  request.on('error', () => undefined)
  request.flushHeaders()
  const [response] = (await once(request, 'response')) as [http.IncomingMessage]
  const body = (await json(response)) as Record<string, unknown>
  request.destroy()
  return [response.statusCode, body.code]
}

/** A cursor as the list of this name would give it. */
function forged(list: string, bound: unknown, position: unknown): string {
  const body = Buffer.from(JSON.stringify(position)).toString('base64url')
  const sum = createHash('sha256')
    .update(JSON.stringify([list, body, bound]))
    .digest('base64url')
  return `${body}.${sum.slice(0, 12)}`
}

const PAIR = { departureId: 'PMI', destinationId: 'MAD' }
const A_1 = '/watch-lists/summer/watches/A-1'
const NUL = ['a\0', '\ud800']
const FAR = [8.64e15, -8.64e15, -1, 1.5, '0000-01-01T00:00:00Z', '2016-12-31T23:59:60Z']
const existence = (validFrom: unknown) => ({ of: 'existence', validFrom })

// Fault: A cursor with a correct checksum holds a NUL, half of a surrogate pair or a date that no record has.
it('a forged cursor with a NUL or a date that no record has is refused as any forged one', async ({
  api: { base, seed },
}) => {
  const [alpha, operator] = [callsOf(base, seed.keys.alpha), callsOf(base, seed.keys.operator)]
  const { watchId } = (await alpha.get(A_1)).body
  for (const [path, list, bound, good, bad, { get } = alpha] of [
    ['/watch-lists', 'watch-lists', 'alpha', 'a', NUL],
    ['/watch-lists/summer/watches', 'watches', ['alpha', 'summer', {}], 'a', NUL],
    [`${A_1}/timeline`, 'watch-timeline', watchId, 0, FAR],
    [`${A_1}/prices`, 'watch-prices', watchId, 0, FAR],
    ['/routes/PMI/MAD/history', 'route-history', PAIR, existence(0), FAR.map(existence)],
    ['/places', 'places', null, 'PMI', NUL],
    ['/places/PMI', 'place-history', 'PMI', 0, FAR],
    ['/resellers', 'resellers', null, 'a', NUL, operator],
  ] as const) {
    const codeOf = async (position: unknown) => {
      const cursor = encodeURIComponent(forged(list, bound, position))
      const { status, body } = await get(`${path}?cursor=${cursor}`)
      return body.code ?? status
    }
    // Otherwise the others could be refused for their checksum.
    expect(await codeOf(good), path).toBe(200)
    for (const position of bad) {
      expect([path, position, await codeOf(position)]).toEqual([path, position, INVALID])
    }
  }
})

// Fault: A cursor of another reseller on a list of the same name.
it('a cursor of another reseller is refused, also for lists of the same name', async ({
  api: { base, seed },
}) => {
  const code = INVALID
  await callsOf(base, seed.keys.beta).play(
    [`GET /watch-lists?cursor=${forged('watch-lists', 'alpha', 'a')}`, undefined, { code }],
    [
      `GET /watch-lists/winter/watches?cursor=${forged('watches', ['alpha', 'winter', {}], 'a')}`,
      undefined,
      { code },
    ],
  )
})

const CANARY = 'CANARY-0123456789'

it('a credential in an address appears in no log line and no response', async ({
  seeded: { db },
}) => {
  const { log, lines } = collectLog('trace')
  const right = await newKeyText(db)
  const forged = newKey((max) => max - 1)
  let nowMs = 0
  const base = await startApi(db, { log, nowMs: () => nowMs })
  const answers: string[] = []
  const askAll = async (queries: readonly Record<string, string>[]) => {
    for (const [, operation] of EVERY) {
      for (const query of queries) {
        const answer = await call(base, operation, { query }).catch(
          // A response that has begun is cut off.
          (err: unknown) => ({ text: String(err), headers: new Headers() }),
        )
        answers.push(answer.text, JSON.stringify([...answer.headers]))
      }
    }
  }
  await askAll([
    ...[CANARY, forged, right].map((accessToken) => ({ accessToken })),
    ...[forged, right].map((key) => ({ accessToken: right, [key]: key })),
    { accessToken: right, token: CANARY },
  ])
  // An internal error is logged.
  await sql`alter table farewatch_private.sync_run rename to elsewhere`.execute(db)
  // Without caches, so that the request reaches the database.
  nowMs += 1_000
  await askAll([{ accessToken: right }])
  answers.push(await (await fetch(`${base}/%zz?accessToken=${right}`)).text())
  answers.push(await (await fetch(`${base}/nowhere?accessToken=${right}`)).text())

  expect(lines.join('')).toContain('request failed')
  for (const secret of [CANARY, forged, right]) {
    expect(lines.join('\n')).not.toContain(secret)
    expect(answers.join('\n')).not.toContain(secret)
  }
})
