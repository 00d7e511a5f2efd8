import fc from 'fast-check'
import { describe, expect } from 'vitest'
import { PROBLEM_TYPE } from '../../src/platform/http/problems.ts'
import { propertiesOf } from '../../src/platform/http/read-parameters.ts'
import { type Answer, startApi } from '../support/api-server.ts'
import { type AnyOperation, type CallArgs, call, EVERY, rightKey } from './calls.ts'
import { bodyLike, hostileText, textOf } from './hostile.ts'
import { it } from './shared-api.ts'

/** Each run of the tests draws other requests. */
const RUNS = 20

/** Calls of an operation with valid, almost valid, hostile and repeated parameters. */
function callsOf(operation: AnyOperation): fc.Arbitrary<CallArgs> {
  const { params, query, body, example } = operation
  const texts = (properties: Record<string, Readonly<Record<string, unknown>>>, all: boolean) =>
    fc.record(
      Object.fromEntries(
        Object.entries(properties).map(([name, shape]) => [
          name,
          fc.oneof(textOf(shape), hostileText),
        ]),
      ),
      all ? {} : { requiredKeys: [] },
    )
  return fc.record(
    {
      params: texts(propertiesOf(params), true),
      query: fc
        .tuple(
          texts(propertiesOf(query), false),
          fc.array(fc.tuple(hostileText, hostileText), { maxLength: 1 }),
          fc.boolean(),
        )
        .map(([known, hostile, twice]) => {
          const pairs = [...Object.entries(known), ...hostile] as [string, string][]
          return new URLSearchParams([...pairs, ...(twice ? pairs.slice(0, 1) : [])]).toString()
        }),
      ...(body === undefined ? {} : { body: fc.oneof(bodyLike(example.body), hostileText) }),
    },
    { requiredKeys: [] },
  ) as fc.Arbitrary<CallArgs>
}

function expectAnswer(answer: Answer): void {
  expect(answer.status, answer.text).toBeLessThan(500)
  if (answer.status < 400) return
  expect(answer.headers.get('content-type')).toContain(PROBLEM_TYPE)
  expect(answer.body).toMatchObject({ status: answer.status, code: expect.any(String) as string })
}

describe.for(EVERY)('%s', ([, operation]) => {
  it('hostile requests are answered, and never with a 5xx', async ({ seeded: { db, seed } }) => {
    const base = await startApi(db, { waits: false })
    const key = rightKey(seed, operation)

    await fc.assert(
      fc.asyncProperty(callsOf(operation), async (args) => {
        expectAnswer(await call(base, operation, { ...args, key }))
      }),
      { numRuns: RUNS },
    )
  })

  it.runIf(operation.audience !== 'everybody')(
    'hostile text is not accepted as a key',
    async ({ api: { base } }) => {
      await fc.assert(
        fc.asyncProperty(fc.string({ unit: 'grapheme-ascii', maxLength: 80 }), async (key) => {
          expect((await call(base, operation, { key: key.trim() || '-' })).status).toBe(401)
        }),
        { numRuns: 20 },
      )
    },
  )
})
