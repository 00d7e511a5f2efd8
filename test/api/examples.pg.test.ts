import type { TSchema } from 'typebox'
import { Value } from 'typebox/value'
import { describe, expect } from 'vitest'
import { answerHeaders } from '../../src/http/openapi-headers.ts'
import { startApi } from '../support/api-server.ts'
import { it } from '../support/test-database.ts'
import { call, EVERY, rightKey } from './calls.ts'
import { seedApi } from './seed.ts'
import { it as shared } from './shared-api.ts'

/** Headers that an answer would not have by itself. */
const OURS = /^(?:farewatch-|ratelimit|etag|last-modified|retry-after|x-request-id)/

/** What of a value its schema does not have. */
function faults(schema: TSchema | undefined, value: unknown): unknown {
  return schema === undefined ? [] : Value.Errors(schema, value)
}

describe.for(EVERY)('the example of %s', ([, operation]) => {
  const { answer, example, method } = operation

  it('works, and is answered in the shape that is documented', async ({ db }) => {
    const seed = await seedApi(db)
    const base = await startApi(db)

    const real = await call(base, operation, { key: rightKey(seed, operation) })

    expect(real.status, real.text).toBe(answer.status ?? 200)
    const type = answer.status === 204 ? null : (answer.type ?? 'application/json')
    expect(real.headers.get('content-type')?.split(';')[0] ?? null).toBe(
      type === null ? null : type.split(';')[0],
    )
    expect(faults(answer.schema, real.body)).toEqual([])
    const told = Object.keys(answerHeaders(operation)).map((name) => name.toLowerCase())
    const ofOurs = [...real.headers.keys()].filter((name) => OURS.test(name))
    expect(told).toEqual(expect.arrayContaining(ofOurs))
  })

  it('documents an answer of that shape', () => {
    expect(faults(answer.schema, example.answer)).toEqual([])
  })

  shared.runIf(method === 'GET')('has a HEAD without a body', async ({ api: { seed, base } }) => {
    const path = operation.path.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
      encodeURIComponent(example.params?.[name] ?? ''),
    )

    const head = await fetch(`${base}${path}?${new URLSearchParams(example.query ?? {})}`, {
      method: 'HEAD',
      headers: { authorization: `Bearer ${rightKey(seed, operation)}` },
    })

    expect(head.status).toBe(answer.status ?? 200)
    expect(await head.text()).toBe('')
  })
})
