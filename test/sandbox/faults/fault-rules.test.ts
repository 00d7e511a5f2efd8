import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import {
  type FaultRule,
  parseFaultText,
  readRules,
  SandboxFaultError,
} from '../../../sandbox/faults/fault-rule.ts'
import { until } from '../../support/until.ts'
import { startTestSandbox } from '../support.ts'
import { type FaultFixture, prepareFixture } from './fault-fixture.ts'

let fixture: FaultFixture

beforeAll(async () => {
  fixture = await prepareFixture()
})

beforeEach(() => fixture.sandbox.setFaults([]))

afterAll(() => fixture.close())

async function call(method: string, path = '', body?: unknown) {
  const given = { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }
  const response = await fetch(`${fixture.sandbox.url}/sandbox/faults${path}`, {
    method,
    ...(body === undefined ? {} : given),
  })
  return { status: response.status, body: (await response.json()) as Record<string, unknown> }
}

const statusOf = async (endpoint: 'routes' | 'csv' | 'verify' = 'csv', { request } = fixture) =>
  (await request(endpoint).done).status

describe('fault rules', () => {
  it('affect the next request, are shown with their counts, and end on time or by name', async () => {
    const { clock } = fixture
    const rule = { name: 'status', endpoint: 'csv', durationSeconds: 60, code: 503 }
    await call('PUT', '', [rule])
    const shown = { ...rule, probability: 1, retryAfter: 'missing', seconds: 30 }
    const endsAt = new Date(clock.now().getTime() + 60_000).toISOString()
    expect([await statusOf('csv'), await statusOf('routes')]).toEqual([503, 200])
    expect((await call('GET')).body).toEqual({
      faults: [{ ...shown, endsAt, requests: 1, triggered: 1 }],
    })
    clock.advance(59_999)
    expect(await statusOf()).toBe(503)
    clock.advance(1)
    expect([await statusOf(), (await call('GET')).body]).toEqual([200, { faults: [] }])
    await call('POST', '', { name: 'status', code: 418 })
    expect(await statusOf('routes')).toBe(418)
    await call('DELETE', '/status')
    expect(await statusOf('routes')).toBe(200)
  })

  it.each([
    ['PUT', {}, /an array of objects/],
    ['PUT', ['half-list'], /^fault rule 1 is not an object$/],
    ['PUT', [{}], /^fault rule 1: name is missing, but must be one of status, /],
    ['PUT', [{ name: 'hang' }, { name: 'toString' }], /^fault rule 2: name is "toString", but/],
    ['POST', [{ name: 'hang' }], /is not an object/],
    ['POST', null, /is not an object/],
    [
      'POST',
      { name: 'half-list', endpoint: 'verify' },
      /\(half-list\): endpoint is "verify", but must be one of all, routes, with-availability$/,
    ],
    [
      'POST',
      { name: 'status', probability: 1.1 },
      /probability is 1.1, but must be a number from 0 to 1$/,
    ],
    ['POST', { name: 'status', probability: '1' }, /probability is "1"/],
    [
      'POST',
      { name: 'status', durationSeconds: 0 },
      /durationSeconds is 0, but must be a number above 0, to 2592000$/,
    ],
    ['POST', { name: 'status', code: 99 }, /code is 99, but must be a whole number from 200 to/],
    ['POST', { name: 'status', code: 500.5 }, /code is 500.5/],
    [
      'POST',
      { name: 'status', ms: 5 },
      /it has no parameter "ms"; its parameters are name, endpoint, probability, durationSeconds, code, /,
    ],
    [
      'POST',
      { name: 'rate-limited', retryAfter: 'never' },
      /retryAfter is "never", but must be one of seconds, date, missing, absurd, /,
    ],
    ['POST', { name: 'redirect', to: 'ftp://x' }, /to is "ftp:\/\/x", but must be an http or/],
    ['POST', { name: 'wrong-type', type: 'a\r\nb: c' }, /type is .*, but must be a media type/],
  ])('reject %s of %j with a reason, and apply nothing of it', async (method, given, title) => {
    fixture.sandbox.setFaults([{ name: 'drip' }])
    expect(await call(method, '', given)).toEqual({
      status: 400,
      body: expect.objectContaining({
        code: 'sandbox.fault_rule',
        title: expect.stringMatching(title),
      }),
    })
    expect((await call('GET')).body.faults).toMatchObject([{ name: 'drip' }])
  })

  it.each([
    ['hang', 'no rule of the fault hang is in force'],
    ['nope', 'no fault has this name; the names are status'],
  ])('answer the removal of %s, which is not in force, with 404', async (name, title) => {
    const answer = await call('DELETE', `/${name}`)
    expect(answer).toMatchObject({ status: 404, body: { title: expect.stringContaining(title) } })
  })

  it('are triggered as often as their probability says, by the same requests in each run of a seed', async () => {
    const faults: FaultRule[] = [418, 503].map((code) => ({
      name: 'status',
      probability: 0.3,
      code,
    }))
    const run = async (seed: number) => {
      const own = await prepareFixture({ seed })
      own.sandbox.setFaults(faults)
      const statuses: unknown[] = []
      for (let i = 0; i < 150; i += 1) statuses.push(await statusOf('verify', own))
      await own.close()
      return statuses
    }
    const first = await run(1)
    expect(first.filter((status) => status === 418).length / 150).toBeCloseTo(0.3, 0.5)
    expect(new Set(first)).toEqual(new Set([200, 418, 503]))
    expect(await run(1)).toEqual(first)
    expect(await run(2)).not.toEqual(first)
  })

  it.each<[string, FaultRule?]>([
    ['hang', { name: 'hang' }],
    ['half-list:routes', { name: 'half-list', endpoint: 'routes' }],
    [
      'status:verify:0.2:60,code=503',
      { name: 'status', endpoint: 'verify', probability: 0.2, durationSeconds: 60, code: 503 },
    ],
    ['latency:::30,ms=500', { name: 'latency', durationSeconds: 30, ms: 500 }],
    [
      'redirect,code=301,to=http://127.0.0.1:9/x?a=b',
      { name: 'redirect', code: 301, to: 'http://127.0.0.1:9/x?a=b' },
    ],
    ['hang:all:1:5:6'],
    ['status,503'],
    ['status,=503'],
    ['status,'],
  ])('are read from the text %s, or refused with the form that it should have', (text, rule) => {
    if (rule !== undefined) {
      expect(parseFaultText(text)).toEqual(rule)
      expect(readRules([rule])).toHaveLength(1)
      return
    }
    expect(() => parseFaultText(text)).toThrow(SandboxFaultError)
    expect(() => parseFaultText(text)).toThrow('NAME[:endpoint][:probability][:seconds]')
  })
})

describe('a sandbox', () => {
  it.each(['hang-body', 'latency'] as const)(
    'starts with a fault, and closes while %s keeps a client waiting',
    async (name) => {
      const slow = name === 'latency' ? { ms: 60_000 } : {}
      const sandbox = await startTestSandbox({ faults: [{ name, ...slow }] })
      const waiting = fetch(`${sandbox.url}/api/v1/data/routes`).then((it) => it.text())
      const ended = expect(waiting).rejects.toThrow()
      await until('the request', async () => {
        const world = await (await fetch(`${sandbox.url}/sandbox/world`)).json()
        return (world as { counts: { requests: number } }).counts.requests === 1
      })

      await sandbox.close()
      await ended
    },
  )
})
