import { writeFileSync } from 'node:fs'
import type { TSchema } from 'typebox'
import { Value } from 'typebox/value'
import { afterAll, describe, expect } from 'vitest'
import answers from '../../src/app/api-examples.json' with { type: 'json' }
import { API_OPERATIONS } from '../../src/app/api-operations.ts'
import { lazily } from '../../src/platform/base/cache.ts'
import { answerHeaders, HEADERS_OF_ALL } from '../../src/platform/http/openapi-components.ts'
import { isEdited } from '../../src/platform/http/safe-writes.ts'
import type { Observation } from '../../src/upstream/observation.ts'
import type { Question } from '../../src/upstream/question.ts'
import { available, gone, observation } from '../fares/fare-fixtures.ts'
import { startTestSandbox, TOKEN } from '../sandbox/support.ts'
import { type Answer, startApi } from '../support/api-server.ts'
import { type AnyOperation, call, EVERY, rightKey } from './calls.ts'
import { it as onSeededApi, type SharedApi, useSeededApi } from './shared-api.ts'

/** Headers that Fastify and Node do not set themselves. */
const OURS = /^(?:farewatch-|ratelimit|etag|last-modified|retry-after|x-request-id)/
/** "npm run examples" sets it: the responses become the examples of the documentation. */
const WRITES = process.env.WRITE_EXAMPLES !== undefined
const FILE = new URL('../../src/app/api-examples.json', import.meta.url)

const written: Record<string, unknown> = {}
const sandbox = lazily(() => startTestSandbox())
afterAll(async () => {
  if (WRITES) writeFileSync(FILE, JSON.stringify(written))
  await (await sandbox()).close()
})

/** The members of a value that its schema does not allow. */
function faults(schema: TSchema | undefined, value: unknown): unknown {
  return schema === undefined ? [] : Value.Errors(schema, value)
}

/** A series with its first rows alone. */
function shortened(value: unknown): unknown {
  if (Array.isArray(value)) return value.slice(0, 2).map(shortened)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, shortened(part)]))
}

/** The body as the documentation shows it: long series cut, without the text of a key, and the same after each migration. */
function shown({ headers, body, text }: Answer): unknown {
  if (headers.get('content-type')?.includes('json') !== true) return text
  if ('secret' in body) return { ...body, secret: 'whsec_…' }
  if ('versions' in body) {
    return { ...body, versions: { ...(body.versions as object), schema: '0012_example' } }
  }
  return 'key' in body ? { ...body, key: `${String(body.prefix)}…` } : body
}

/** An upstream that answers with the flights of a sandbox. */
const UPSTREAM = {
  verifyFares: async ({ flightId, returnFlightId }: Question): Promise<Observation> => {
    const { url } = await sandbox()
    const query = new URLSearchParams({
      flightId,
      ...(returnFlightId === null ? {} : { returnFlightId }),
      'residents[adults]': '0',
      'nonResidents[adults]': '2',
      accessToken: TOKEN,
    })
    const body = await (await fetch(`${url}/api/v1/flights/fares/verify?${query}`)).text()
    const flights = JSON.parse(body) as Record<string, { available: boolean }>
    const leg = (id: string) => (flights[id]?.available === true ? available() : gone)
    const seen = observation(leg(flightId), returnFlightId === null ? null : leg(returnFlightId))
    return { ...seen, evidence: { ...seen.evidence, body } }
  },
}

const it = onSeededApi.extend<{ reading: SharedApi }>({
  reading: [
    async ({ template }, use) => useSeededApi(template, { verify: { upstream: UPSTREAM } }, use),
    { scope: 'file' },
  ],
})

function expectExample(id: string, operation: AnyOperation, real: Answer): void {
  const { answer } = operation
  if (answer.status !== 204) written[id] = shortened(shown(real))
  expect(real.status, real.text).toBe(answer.status ?? 200)
  const type = answer.status === 204 ? null : (answer.type ?? 'application/json')
  expect(real.headers.get('content-type')?.split(';')[0] ?? null).toBe(
    type === null ? null : type.split(';')[0],
  )
  expect(faults(answer.schema, real.body)).toEqual([])
  const documented = [
    ...HEADERS_OF_ALL,
    ...Object.keys(answerHeaders(operation, isEdited(operation, API_OPERATIONS))),
  ].map((name) => name.toLowerCase())
  const ofOurs = [...real.headers.keys()].filter((name) => OURS.test(name))
  expect(documented).toEqual(expect.arrayContaining(ofOurs))
}

describe.for(EVERY.filter(([, { method }]) => method !== 'GET'))(
  'the example of %s',
  ([id, operation]) => {
    it('works, and its response has the documented shape', async ({ seeded: { db, seed } }) => {
      const base = await startApi(db)

      const real = await call(base, operation, { key: rightKey(seed, operation) })

      expectExample(id, operation, real)
    })
  },
)

describe.for(EVERY.filter(([, { method }]) => method === 'GET'))(
  'the example of %s',
  ([id, operation]) => {
    it('works, its response has the documented shape, and HEAD answers without a body', async ({
      reading: { base, seed },
    }) => {
      const key = rightKey(seed, operation)

      const real = await call(base, operation, { key })
      const head = await call(base, { ...operation, method: 'HEAD' as 'GET' }, { key })

      expectExample(id, operation, real)
      expect(head).toMatchObject({ status: real.status, text: '' })
    })
  },
)

it.skipIf(WRITES)('every response that has a body is recorded', () => {
  const withBody = API_OPERATIONS.filter(({ answer }) => answer.status !== 204)
  expect(new Set(Object.keys(answers))).toEqual(new Set(withBody.map(({ id }) => id)))
})
