import { describe, expect } from 'vitest'
import { ENDPOINT_GROUPS } from '../../src/upstream/breaker/breaker-state.ts'
import { addressesOf, startInTest } from '../support/child-process.ts'
import { it } from '../support/test-database.ts'
import { putState } from '../upstream/health-fixtures.ts'

interface Health {
  readonly status: number
  readonly body: {
    readonly status: string
    readonly checks: readonly { readonly name: string; readonly fault: string | null }[]
  }
}

/** Starts a process without an upstream, and reads its health. */
async function started(
  command: 'api' | 'worker' | 'worker --roles deliver',
  databaseUrl: string,
  env: Readonly<Record<string, string>> = {},
) {
  const running = startInTest(command.split(' '), {
    ...env,
    DATABASE_URL: databaseUrl,
    UPSTREAM_BASE_URL: 'http://127.0.0.1:9',
    API_PORT: '0',
    ADMIN_PORT: '0',
  })
  const { health, metrics } = await addressesOf(running)
  const ask = async (path: string): Promise<Health> => {
    const response = await fetch(new URL(path, health))
    return { status: response.status, body: (await response.json()) as Health['body'] }
  }
  const readMetrics = async () => (await fetch(metrics)).text()
  return { ask, readMetrics }
}

const namesOf = ({ body }: Health) => body.checks.map(({ name }) => name)

it('an API is ready if it has started, makes progress and does not drain; ?verbose shows each, and the stores', async ({
  databaseUrl,
}) => {
  const { ask, readMetrics } = await started('api', databaseUrl)

  const short = await ask('/readyz')
  const verbose = await ask('/readyz?verbose')

  expect(short).toEqual({ status: 200, body: { status: 'ready', checks: [] } })
  expect(verbose.status).toBe(200)
  expect(namesOf(verbose)).toEqual(['not draining', 'started', 'progress', 'database', 'schema'])
  expect(verbose.body.checks).toContainEqual({
    name: 'database',
    fault: null,
    tookMs: expect.any(Number) as number,
  })
  expect(await readMetrics()).not.toMatch(/^farewatch_redis_up/m)
})

describe('the readiness of a worker', () => {
  it('a worker is ready if its queues make progress, even while the upstream is down', async ({
    db,
    databaseUrl,
  }) => {
    const nowMs = Date.now()
    const open = { sinceMs: nowMs, cause: '500', goodAtMs: null, probeAtMs: nowMs, probe: null }
    for (const group of ENDPOINT_GROUPS) await putState(db, [group, 'errors'], { open })
    const { ask, readMetrics } = await started('worker', databaseUrl)

    const verbose = await ask('/readyz?verbose')

    expect(verbose).toMatchObject({ status: 200, body: { status: 'ready' } })
    expect(namesOf(verbose)).toEqual(
      expect.arrayContaining(['progress', 'worker verify', 'worker route-sync']),
    )
    expect(verbose.body.checks.at(-1)).toHaveProperty('lastActivityAt')
    // Its queue is in PostgreSQL.
    expect(await readMetrics()).not.toMatch(/^farewatch_redis_up/m)
  })

  it('one that only delivers uses no queue, and says nothing about Redis', async ({
    databaseUrl,
  }) => {
    const noRedis = { REDIS_URL: 'redis://127.0.0.1:9' }
    const { readMetrics } = await started('worker --roles deliver', databaseUrl, noRedis)

    const metrics = await readMetrics()

    expect(metrics).toMatch(/^farewatch_db_up 1$/m)
    expect(metrics).not.toMatch(/^farewatch_redis_up/m)
  })
})
