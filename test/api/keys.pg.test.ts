import { describe, expect } from 'vitest'
import type { ResellerId } from '../../src/platform/base/reseller-id.ts'
import type { Db } from '../../src/platform/db/database.ts'
import {
  createApiKey,
  listApiKeys,
  type NewApiKey,
  revokeApiKey,
} from '../../src/resellers/api-keys.ts'
import { createReseller } from '../../src/resellers/resellers.ts'
import { rotateApiKey } from '../../src/resellers/rotate-key.ts'
import { type Answer, newKeyText, startApi } from '../support/api-server.ts'
import { until } from '../support/until.ts'
import { type AnyOperation, call, KEYED, rightKey } from './calls.ts'
import { callsOf } from './reseller-calls.ts'
import { scopedKey, wrongKeys } from './seed.ts'
import { it } from './shared-api.ts'

/** A problem without the members that differ between requests. */
function shapeOf({ status, headers, body }: Answer): unknown {
  const { requestId, ...problem } = body
  expect(requestId).toBe(headers.get('x-request-id'))
  const answer = [...headers].filter(([name]) => !/^(date|x-request-id|ratelimit)$/.test(name))
  return { status, problem, headers: Object.fromEntries(answer) }
}

function problem(status: number, code: string): unknown {
  return expect.objectContaining({ status, body: expect.objectContaining({ code }) })
}

describe.for(KEYED)('%s', ([id, operation]) => {
  it('a request without a valid key is refused', async ({ api: { db, seed, base } }) => {
    const { alpha, keys } = seed

    const none = await call(base, operation)
    const mistyped = await call(base, operation, { key: `${keys.alpha.slice(0, -1)}!` })

    expect(none).toEqual(problem(401, 'access.no_key'))
    expect(none.headers.get('www-authenticate')).toBe('Bearer realm="farewatch"')
    expect(mistyped).toEqual(problem(401, 'access.mistyped_key'))
    expect(mistyped.headers.get('www-authenticate')).toMatch(/error="invalid_token"/)
    const shapes: unknown[] = []
    for (const key of Object.values(await wrongKeys(db, alpha))) {
      const answer = await call(base, operation, { key })
      expect(answer).toEqual(problem(401, 'access.unknown_key'))
      shapes.push(shapeOf(answer))
    }
    // Expired, revoked and forged keys get the same answer.
    expect(shapes).toEqual([shapes[0], shapes[0], shapes[0]])
  })

  if (operation.scope !== 'any')
    it('a key without the scope is refused', async ({ api: { db, seed, base } }) => {
      const { alpha } = seed
      const without: Record<string, () => Promise<string>> = {
        read: () => scopedKey(db, alpha, ['watch']),
        watch: () => scopedKey(db, alpha, ['read']),
        operate: () => scopedKey(db, alpha, ['read', 'watch']),
      }

      const answer = await call(base, operation, { key: await without[operation.scope]?.() })

      expect(answer).toEqual(problem(403, 'access.missing_scope'))
      expect(answer.headers.get('www-authenticate')).toContain(`scope="${operation.scope}"`)
    })

  if (operation.audience === 'resellers')
    it('an operator’s key is refused', async ({ api: { seed, base } }) => {
      const { keys } = seed

      const answer = await call(base, operation, { key: keys.operator })

      const code = ['read', 'any'].includes(operation.scope)
        ? 'access.resellers_only'
        : 'access.missing_scope'
      expect(answer).toEqual(problem(403, code))
    })

  // A seq counts the caller's own feed: records.pg.test.ts shows that it never reaches another one.
  if (
    operation.audience === 'resellers' &&
    operation.params !== undefined &&
    operation.example.params?.seq === undefined
  )
    it('another reseller’s resource is not found, like one that no reseller has', async ({
      api: { db, seed, base },
    }) => {
      const other = await createReseller(db, `without lists, ${id}`)
      const { text } = await createApiKey(db, { resellerId: other.id, scopes: ['read', 'watch'] })

      const answer = await call(base, operation, { key: seed.keys.beta })
      const missing = await call(base, operation, { key: text })

      expect(answer.status).toBe(404)
      expect(shapeOf(answer)).toEqual(shapeOf(missing))
    })

  it('a key in the query is accepted on the upstream’s own endpoints only', async ({
    api: { seed, base },
  }) => {
    const query = { ...operation.example.query, accessToken: rightKey(seed, operation) }

    const answer = await call(base, operation, { query })

    if (operation.upstream === true) expect(answer.status).toBe(200)
    else expect(answer).toEqual(problem(400, 'request.key_in_query'))
    expect(answer.text).not.toContain(rightKey(seed, operation))
  })

  it('an unknown parameter is refused, or ignored on the upstream’s own endpoints', async ({
    api: { seed, base },
  }) => {
    const query = { ...operation.example.query, 'not a parameter,é': '1' }

    const answer = await call(base, operation, { query, key: rightKey(seed, operation) })

    expectUnknownParameter(operation, answer)
  })
})

function expectUnknownParameter({ upstream }: AnyOperation, answer: Answer): void {
  if (upstream === true) {
    expect(answer.status).toBe(200)
    expect(answer.headers.get('farewatch-ignored')).toBe('not%20a%20parameter%2C%C3%A9')
    return
  }
  expect(answer).toEqual(problem(400, 'request.unknown_parameter'))
  expect(answer.body.parameter).toBe('not a parameter,é')
}

async function rotatable(db: Db, args: Partial<NewApiKey> = {}) {
  const base = await startApi(db)
  const { id: resellerId } = await createReseller(db, 'ana')
  const { text, key } = await createApiKey(db, { resellerId, ...args })
  const rotate = (given: string, body: object = {}) =>
    callsOf(base, given).send('POST', '/own-keys/rotate', body)
  const status = async (given: string) => (await callsOf(base, given).get('/caller')).status
  return { base, resellerId, text, key, rotate, status }
}

it('a caller sees who it is, and a reseller sees its own keys alone', async ({ db }) => {
  const { base, text, key } = await rotatable(db, { scopes: ['read'] })
  const ben = await createReseller(db, 'ben')
  await createApiKey(db, { resellerId: ben.id })
  const ana = callsOf(base, text)
  await ana.play([
    'GET /caller',
    undefined,
    { kind: 'reseller', reseller: 'ana', scopes: ['read'] },
  ])
  const keys = await ana.get('/own-keys')
  expect(keys.body).toMatchObject({ items: [{ prefix: key.prefix }] })
  expect(keys.text).not.toContain(text)
  await callsOf(base, await newKeyText(db)).play(
    ['GET /caller', undefined, { kind: 'operator', reseller: null }],
    ['GET /own-keys', undefined, 403],
  )
})

describe('a reseller that rotates its own key', () => {
  const HOUR_MS = 3_600_000

  it('receives a key with the same scopes and end, and its own ends after the overlap', async ({
    db,
  }) => {
    const expiresAt = new Date(Date.now() + 90 * 24 * HOUR_MS)
    const { text, rotate, status } = await rotatable(db, { scopes: ['watch'], expiresAt })
    const first = await rotate(text)
    const again = await rotate(text, { overlapSeconds: 3_600 })
    const [given, other] = [
      String(again.body.key),
      await rotate(String(again.body.key), { overlapSeconds: 0 }),
    ]
    const body = { scopes: ['watch'], expiresAt: expiresAt.toISOString() }
    expect([first, again, other]).toMatchObject([1, 2, 3].map(() => ({ status: 201, body })))
    const hours = [first, again].map((one) =>
      Math.round((Date.parse(String(one.body.previousEndsAt)) - Date.now()) / HOUR_MS),
    )
    expect(hours).toEqual([24, 1])
    // Without the scope of reading.
    expect([await status(text), await status(String(other.body.key))]).toEqual([403, 403])
    await until('the key without an overlap ends', async () => (await status(given)) === 401)
  })

  it('is refused an overlap of over a week, and more than twenty rotations a day', async ({
    db,
  }) => {
    const { text, rotate } = await rotatable(db)
    const long = await rotate(text, { overlapSeconds: 604_801 })
    const answers = await Promise.all(Array.from({ length: 25 }, () => rotate(text)))
    expect(long.body).toMatchObject({ code: 'request.invalid_body', pointer: '/overlapSeconds' })
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(20)
    expect(answers.find(({ status }) => status === 409)?.body.code).toBe('quota.key_rotations')
  })

  it('is refused a key for one that was revoked meanwhile', async ({ db }) => {
    const { key, resellerId } = await rotatable(db)
    await revokeApiKey(db, key.id)
    const given = { resellerId: resellerId as ResellerId, keyId: key.id, overlapSeconds: 60 }
    await expect(rotateApiKey(db, given)).rejects.toMatchObject({ code: 'access.unknown_key' })
    expect(await listApiKeys(db)).toHaveLength(1)
  })
})
