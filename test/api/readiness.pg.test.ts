import { describe, expect, onTestFinished } from 'vitest'
import { sql } from '../../src/platform/db/database.ts'
import { ENDPOINT_GROUPS } from '../../src/upstream/breaker/breaker-state.ts'
import { startFarewatch } from '../support/child-process.ts'
import { createTcpProxy, type TcpProxy } from '../support/tcp-proxy.ts'
import { it } from '../support/test-database.ts'
import { until } from '../support/until.ts'
import { putState } from '../upstream/health-fixtures.ts'

interface Health {
  readonly status: number
  readonly body: {
    readonly status: string
    readonly checks: readonly { readonly name: string; readonly fault: string | null }[]
  }
}

/** Starts a process without an upstream, and reads its health. */
async function started(role: 'api' | 'worker', databaseUrl: string) {
  const running = startFarewatch([role], {
    DATABASE_URL: databaseUrl,
    UPSTREAM_BASE_URL: 'http://127.0.0.1:9',
    API_PORT: '0',
    ADMIN_PORT: '0',
  })
  onTestFinished(() => void running.child.kill('SIGKILL'))
  const line = await until('the start', () =>
    running
      .stdout()
      .split('\n')
      .find((text) => text.includes('"msg":"ready"')),
  )
  const { health } = JSON.parse(line) as { health: string }
  const ask = async (path: string): Promise<Health> => {
    const response = await fetch(new URL(path, health))
    return { status: response.status, body: (await response.json()) as Health['body'] }
  }
  return { ask }
}

/** A proxy to the database that can be closed. */
async function doorTo(databaseUrl: string): Promise<{ url: string; door: TcpProxy }> {
  const url = new URL(databaseUrl)
  const door = await createTcpProxy({ host: url.hostname, port: Number(url.port) })
  onTestFinished(() => door.close())
  url.hostname = '127.0.0.1'
  url.port = String(door.port)
  return { url: url.href, door }
}

const namesOf = ({ body }: Health) => body.checks.map(({ name }) => name)

describe('the readiness of an API', () => {
  it('an API is ready if its database and schema are and it does not drain; ?verbose shows each', async ({
    databaseUrl,
  }) => {
    const { ask } = await started('api', databaseUrl)

    const short = await ask('/readyz')
    const verbose = await ask('/readyz?verbose')

    expect(short).toEqual({ status: 200, body: { status: 'ready', checks: [] } })
    expect(verbose.status).toBe(200)
    expect(namesOf(verbose)).toEqual(['not draining', 'started', 'database', 'schema'])
    expect(verbose.body.checks).toContainEqual({
      name: 'database',
      fault: null,
      tookMs: expect.any(Number) as number,
    })
  })

  it('an API is not ready while the database is unavailable or lacks a migration', async ({
    db,
    databaseUrl,
  }) => {
    const { url, door } = await doorTo(databaseUrl)
    const { ask } = await started('api', url)

    await door.shut()
    const unavailable = await ask('/readyz')
    const alive = await ask('/livez')
    await door.open()
    await until('it is ready again', async () => (await ask('/readyz')).status === 200)
    await sql`
      delete from farewatch_private.migration_note
       where name = (select max(name) from farewatch_private.migration_note)
    `.execute(db)
    const older = await ask('/readyz')

    expect([unavailable.status, namesOf(unavailable)]).toEqual([503, ['database', 'schema']])
    expect(alive).toEqual({ status: 200, body: { status: 'live' } })
    expect([older.status, namesOf(older)]).toEqual([503, ['schema']])
    expect(older.body.checks[0]?.fault).toContain('bin/farewatch migrate')
  })
})

describe('the readiness of a worker', () => {
  it('a worker is ready if its queues make progress, even while the upstream is down', async ({
    db,
    databaseUrl,
  }) => {
    const nowMs = Date.now()
    const open = { sinceMs: nowMs, cause: '500', goodAtMs: null, probeAtMs: nowMs, probe: null }
    for (const group of ENDPOINT_GROUPS) await putState(db, [group, 'errors'], { open })
    await sql`insert into incident (kind) values ('upstream_trouble')`.execute(db)
    const { ask } = await started('worker', databaseUrl)

    const verbose = await ask('/readyz?verbose')

    expect(verbose).toMatchObject({ status: 200, body: { status: 'ready' } })
    expect(namesOf(verbose)).toEqual(
      expect.arrayContaining(['database', 'worker verify', 'worker route-sync']),
    )
    expect(verbose.body.checks.at(-1)).toHaveProperty('lastActivityAt')
  })
})
