import { describe, expect } from 'vitest'
import type { Status, StatusWarning } from '../../src/health/status-shapes.ts'
import { type Db, sql } from '../../src/platform/db/database.ts'
import { createApiKey } from '../../src/resellers/api-keys.ts'
import { SYNC_QUEUE } from '../../src/routes/sync.ts'
import { seedApi } from '../api/seed.ts'
import { aWorld, inWorld, killJobs, queueOf } from '../cli/operator-fixtures.ts'
import { runFarewatch, startInTest } from '../support/child-process.ts'
import { freePort } from '../support/redis-tier.ts'
import { it } from '../support/test-database.ts'
import { until } from '../support/until.ts'
import { HEALTHY, putState } from '../upstream/health-fixtures.ts'

interface Deps {
  readonly db: Db
  readonly run: (...args: string[]) => Promise<unknown>
  readonly killJob: () => Promise<void>
}

interface Cause {
  readonly code: string
  readonly begin: (deps: Deps) => Promise<unknown>
  readonly end: (deps: Deps) => Promise<unknown>
}

const OPEN = { sinceMs: 60_000, cause: '401', goodAtMs: 59_000, probeAtMs: 0, probe: null }
const statement =
  (text: string) =>
  ({ db }: Deps) =>
    sql.raw(text).execute(db)
const process = (role: string, columns: string, values: string) =>
  statement(`
    insert into process (id, role, version, host, pid, ${columns})
    values (gen_random_uuid(), '${role}', '1.0.0', 'another', 7, ${values})
  `)
const withoutProcess = (role: string) => statement(`delete from process where role = '${role}'`)

/** What an operator or a fault does to a running farewatch, and what ends it. */
const CAUSES: readonly Cause[] = [
  {
    code: 'checks_paused',
    begin: ({ run }) => run('pause', 'checks', '--reason', 'tests'),
    end: ({ run }) => run('resume', 'checks'),
  },
  {
    code: 'budget_limit',
    begin: ({ run }) => run('budget', 'limit', '1', '--to', '1h', '--reason', 'tests'),
    end: ({ run }) => run('budget', 'limit', '--off'),
  },
  {
    code: 'jobs_dead',
    begin: ({ killJob }) => killJob(),
    end: ({ run }) => run('jobs', 'drop', SYNC_QUEUE, '--all', '--yes'),
  },
  {
    code: 'mass_price_change',
    begin: statement(`insert into incident (kind) values ('mass_price_change')`),
    end: statement(`update incident set closed_at = clock_timestamp() where closed_at is null`),
  },
  {
    code: 'credential_refused',
    begin: ({ db }) => putState(db, ['verify', 'auth'], { open: OPEN }),
    end: ({ db }) => putState(db, ['verify', 'auth'], HEALTHY),
  },
  {
    code: 'upstream_paused',
    begin: statement(
      `update upstream_budget set paused_until = clock_timestamp() + interval '14 minutes'`,
    ),
    end: statement(`update upstream_budget set paused_until = null`),
  },
  {
    code: 'endpoints_disabled',
    begin: statement(
      `update webhook_endpoint set disabled_at = clock_timestamp(), disabled_reason = 'gone'`,
    ),
    end: statement(`update webhook_endpoint set disabled_at = null, disabled_reason = null`),
  },
  {
    code: 'deliveries_dying',
    begin: statement(`update delivery set ended_at = clock_timestamp() where state = 'dead'`),
    end: statement(
      `update delivery set ended_at = ended_at - interval '2 hours' where state = 'dead'`,
    ),
  },
  {
    code: 'process_silent',
    begin: process('deliver', 'last_progress_at', `clock_timestamp() - interval '10 minutes'`),
    end: withoutProcess('deliver'),
  },
  {
    code: 'clock_wrong',
    begin: process(
      'check',
      'clock_ahead_seconds, last_progress_at',
      `-5, clock_timestamp() + interval '1 hour'`,
    ),
    end: withoutProcess('check'),
  },
]
const CODES = CAUSES.map(({ code }) => code)

/** The texts of warnings by their codes. */
const textsOf = (warnings: readonly StatusWarning[]) =>
  Object.fromEntries(
    warnings.filter(({ code }) => CODES.includes(code)).map(({ code, text }) => [code, text]),
  )

describe('each thing that is wrong', () => {
  it('is shown by every face with the same text, and gone from all when it ends', async ({
    db,
    databaseUrl,
  }) => {
    await seedApi(db)
    const world = await aWorld(databaseUrl, 'postgres')
    const farewatch = inWorld(world)
    const [port, adminPort] = [await freePort(), await freePort()]
    const env = {
      ...world.env,
      API_PORT: String(port),
      ADMIN_PORT: String(adminPort),
      // The endpoints of the seed are sealed with the key of the tests.
      ENCRYPTION_KEY: 'another key, of at least 32 characters',
      ENCRYPTION_KEY_PREVIOUS: 'the encryption key of the tests',
    }
    const api = startInTest(['api'], env)
    await until('the API', () => api.stdout().includes('"msg":"ready"'))
    const { text: key } = await createApiKey(db, { resellerId: null })
    const deps: Deps = {
      db,
      run: farewatch,
      killJob: () => killJobs(queueOf(world), { queue: SYNC_QUEUE, count: 1, message: 'no luck' }),
    }
    const get = async (url: string, headers = {}) => (await fetch(url, { headers })).json()
    const admin = `http://127.0.0.1:${adminPort}`
    const faces = {
      status: async () => JSON.parse((await farewatch('status', '--json')).stdout) as Status,
      // It ends its process.
      doctor: async () =>
        JSON.parse((await runFarewatch(['doctor', '--json'], world.env)).stdout) as Status,
      api: async () =>
        (await get(`http://127.0.0.1:${port}/api/v1/status`, {
          authorization: `Bearer ${key}`,
        })) as Status,
      readiness: async () => (await get(`${admin}/readyz?verbose`)) as Status,
    }
    const metricCodes = async () => {
      const text = await (await fetch(`${admin}/metrics`)).text()
      const found = [...text.matchAll(/^farewatch_warnings\{code="(\w+)"/gm)].map(
        ([, code]) => code,
      )
      return CODES.filter((code) => found.includes(code))
    }

    for (const { begin } of CAUSES) await begin(deps)
    const shown = textsOf((await faces.status()).warnings)
    expect(new Set(Object.keys(shown))).toEqual(new Set(CODES))
    for (const [name, face] of Object.entries(faces)) {
      await until(`the texts of ${name}`, async () => {
        const texts = textsOf((await face()).warnings)
        return Object.keys(texts).length === CODES.length && texts
      }).then((texts) => expect(texts, name).toEqual(shown))
    }
    await until('the metric', async () => (await metricCodes()).length === CODES.length)

    for (const { end } of CAUSES) await end(deps)
    for (const [name, face] of Object.entries(faces)) {
      await until(`nothing in ${name}`, async () => {
        const texts = textsOf((await face()).warnings)
        return Object.keys(texts).length === 0
      })
    }
    await until('nothing in the metric', async () => (await metricCodes()).length === 0)
  })
})
