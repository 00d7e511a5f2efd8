import { describe, expect, it } from 'vitest'
import type { RouteListName } from '../../src/platform/base/kinds.ts'
import type { Breaker, QuickRetry } from '../../src/upstream/attempt.ts'
import type { Admission } from '../../src/upstream/breaker/breaker-state.ts'
import type { UpstreamClientOptions } from '../../src/upstream/upstream-client.ts'
import { type Answer, json } from './answering-server.ts'
import { clientFor } from './client-fixture.ts'
import { ROUTES } from './routes-fixture.ts'
import { aSlot } from './slot-fixture.ts'
import { available, question } from './verify-fixtures.ts'

const { signal } = new AbortController()
const GOOD = json(JSON.stringify(available()))

function status(code: number, headers: Record<string, string> = {}): Answer {
  return (_request, response) => response.writeHead(code, headers).end()
}

const reset: Answer = ({ socket }) => socket.resetAndDestroy()
const hangUp: Answer = ({ socket }) => socket.destroy()
const resetInBody: Answer = ({ socket }, response) => {
  response.writeHead(200, { 'content-type': 'application/json' })
  response.write('{"1234":', () => socket.resetAndDestroy())
}

/** Gives the answers in order, and repeats the last one. */
function inOrder(...answers: Answer[]): Answer {
  let next = 0
  return (request, response) => answers[Math.min(next++, answers.length - 1)]?.(request, response)
}

async function retrying(answer: Answer, options: Partial<UpstreamClientOptions> = {}) {
  const slept: number[] = []
  const retries: QuickRetry[] = []
  const sleep = async (ms: number) => void slept.push(ms)
  const fixture = await clientFor(answer, {
    clock: { now: () => new Date(), sleep },
    random: () => 0.5,
    retrySlot: async () => aSlot(),
    onQuickRetry: (retry) => retries.push(retry),
    ...options,
  })
  return { ...fixture, slept, retries }
}

/** A circuit breaker with these admissions in order. Afterwards it permits every call. */
function breakerWith(admissions: readonly Admission[] = []): Breaker {
  let next = 0
  return {
    admission: async () => admissions[next++] ?? { kind: 'allowed' },
    acquirePermit: async () => {
      const admission = admissions[next++]
      return admission?.kind === 'refused'
        ? admission
        : { kind: 'permit', probe: null, madeAtMs: 0 }
    },
    report: () => undefined,
  }
}

describe.each([
  ['a 502', status(502)],
  ['a 503', status(503)],
  ['a 504', status(504)],
  ['a reset', reset],
  ['the end of the connection', hangUp],
  ['a reset in the body', resetInBody],
])('after %s', (_name, failure) => {
  it('a question is asked once more after a moment, and both calls are counted', async () => {
    await using fixture = await retrying(inOrder(failure, GOOD))

    const { outbound } = await fixture.client.verifyFares(question(), { signal })

    expect(outbound.kind).toBe('available')
    expect(fixture.slept).toEqual([200])
    expect(fixture.calls.map((call) => call.outcome)).toEqual([expect.any(String), 'ok'])
    expect(fixture.calls[0]?.outcome).not.toBe('ok')
    expect(fixture.retries).toEqual([{ endpoint: 'verify', outcome: 'recovered' }])
  })

  it('a list is fetched once more', async () => {
    await using fixture = await retrying(inOrder(failure, json(JSON.stringify(ROUTES))))
    const list: RouteListName = 'with-availability'

    expect(await fixture.pull(list)).toHaveLength(ROUTES.length)
    expect(fixture.retries).toEqual([{ endpoint: list, outcome: 'recovered' }])
  })
})

it('a question is not asked a third time', async () => {
  await using fixture = await retrying(status(503))

  const { outbound } = await fixture.client.verifyFares(question(), { signal })

  expect(outbound).toEqual({ kind: 'unknown', reason: 'http_5xx' })
  expect(fixture.requests).toHaveLength(2)
  expect(fixture.retries).toEqual([{ endpoint: 'verify', outcome: 'failed' }])
})

it.each([
  ['a 500', status(500)],
  ['a 404', status(404)],
  ['a 401', status(401)],
  ['a 429', status(429)],
  ['a redirect', status(302, { location: '/elsewhere' })],
  ['a 503 with Retry-After', status(503, { 'retry-after': '7' })],
  ['an answer outside the contract', json('[]')],
])('a question is not retried after %s', async (_name, answer) => {
  await using fixture = await retrying(answer)

  await fixture.client.verifyFares(question(), { signal })

  expect(fixture.requests).toHaveLength(1)
  expect([fixture.slept, fixture.retries]).toEqual([[], []])
})

const REFUSED: Admission = { kind: 'refused', by: 'errors', untilMs: 0 }

it.each([
  ['refuses calls', [{ kind: 'allowed' }, REFUSED]],
  ['refuses calls when the slot comes', [{ kind: 'allowed' }, { kind: 'allowed' }, REFUSED]],
  ['permits only a probe', [{ kind: 'allowed' }, { kind: 'probe' }]],
] as const)('a question is not retried if the circuit breaker %s', async (_name, admissions) => {
  await using fixture = await retrying(status(503), { breaker: breakerWith(admissions) })

  await fixture.client.verifyFares(question(), { signal })

  expect(fixture.requests).toHaveLength(1)
  expect(fixture.retries).toEqual([])
})
