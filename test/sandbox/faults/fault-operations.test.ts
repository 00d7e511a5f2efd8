import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { SandboxFaultError } from '../../../sandbox/faults/fault-rule.ts'
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
  const init = { method, headers: { 'content-type': 'application/json' } }
  const response = await fetch(`${fixture.sandbox.url}/sandbox/faults${path}`, {
    ...(body === undefined ? { method } : init),
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  return { status: response.status, body: (await response.json()) as Record<string, unknown> }
}

async function names(): Promise<unknown[]> {
  const { body } = await call('GET')
  return (body.faults as { name: string }[]).map(({ name }) => name)
}

describe('the fault endpoints', () => {
  it('show each rule in force with its parameters, its end and its counts', async () => {
    fixture.sandbox.setFaults([{ name: 'status', endpoint: 'csv', durationSeconds: 60, code: 503 }])
    await fixture.request('csv').done
    await fixture.request('routes').done

    expect(await call('GET')).toEqual({
      status: 200,
      body: {
        faults: [
          {
            name: 'status',
            endpoint: 'csv',
            probability: 1,
            durationSeconds: 60,
            code: 503,
            retryAfter: 'missing',
            seconds: 30,
            endsAt: new Date(fixture.clock.now().getTime() + 60_000).toISOString(),
            requests: 1,
            triggered: 1,
          },
        ],
      },
    })
  })

  it('affect the next request', async () => {
    await call('PUT', '', [{ name: 'status', code: 418 }])
    expect((await fixture.request('routes').done).status).toBe(418)

    await call('DELETE', '/status')
    expect((await fixture.request('routes').done).status).toBe(200)
  })

  it.each([
    ['PUT', [{ name: 'hang' }, { name: 'nope' }], /rule 2: name is "nope".* one of status, /],
    ['PUT', { name: 'hang' }, /an array of objects/],
    ['POST', { name: 'status', code: 'x' }, /\(status\): code is "x"/],
    ['POST', [{ name: 'hang' }], /is not an object/],
    ['POST', null, /is not an object/],
  ])('reject %s of %j and apply nothing of it', async (method, given, title) => {
    fixture.sandbox.setFaults([{ name: 'drip' }])

    const { status, body } = await call(method, '', given)

    expect(status).toBe(400)
    expect(body).toMatchObject({ code: 'sandbox.fault_rule', title: expect.stringMatching(title) })
    expect(await names()).toEqual(['drip'])
  })

  it.each([
    ['hang', 'no rule of the fault hang is in force'],
    ['nope', 'no fault has this name; the names are status'],
  ])('answer the removal of %s, which is not in force, with 404', async (name, title) => {
    const { status, body } = await call('DELETE', `/${name}`)

    expect(status).toBe(404)
    expect(body.title).toContain(title)
  })
})

describe('a sandbox', () => {
  it('starts with fault rules, and rejects unknown ones', async () => {
    const faulty = await startTestSandbox({ faults: [{ name: 'status', code: 503 }] })
    try {
      const response = await fetch(`${faulty.url}/api/v1/data/routes`)

      expect(response.status).toBe(503)
      expect(() => faulty.setFaults([{ name: 'status', code: 1 }])).toThrow(SandboxFaultError)
      expect((await fetch(`${faulty.url}/api/v1/data/routes`)).status).toBe(503)
    } finally {
      await faulty.close()
    }
  })

  it.each(['hang-body', 'latency'] as const)(
    'closes while %s keeps a client waiting',
    async (name) => {
      const slow = name === 'latency' ? { ms: 60_000 } : {}
      const sandbox = await startTestSandbox({ faults: [{ name, ...slow }] })
      const waiting = fetch(`${sandbox.url}/api/v1/data/routes`).then((it) => it.text())
      const ended = expect(waiting).rejects.toThrow()
      await until('the request', async () => (await logged(sandbox.url)) === 1)

      await sandbox.close()

      await ended
    },
  )
})

async function logged(url: string): Promise<number> {
  const world = (await (await fetch(`${url}/sandbox/world`)).json()) as {
    counts: { requests: number }
  }
  return world.counts.requests
}
