import { expect } from 'vitest'
import { STATUS_CHECKS } from '../../src/health/checks.ts'
import { LIMITS } from '../../src/health/limits.ts'
import type { StatusWarning } from '../../src/health/status-shapes.ts'
import { MASS_KINDS } from '../../src/platform/base/change-kinds.ts'
import { type Db, type RawBuilder, sql } from '../../src/platform/db/database.ts'
import { SYNC_QUEUE } from '../../src/routes/sync.ts'
import { VERIFY_QUEUE } from '../../src/schedule/claim.ts'
import { killJobs, queueOf } from '../cli/operator-fixtures.ts'
import { addEndpoint } from '../delivery/delivery-fixtures.ts'
import {
  available,
  gone,
  passSeconds,
  record,
  silent,
  trackFare,
  trackFares,
  watchFare,
} from '../fares/fare-fixtures.ts'
import { untilReady } from '../fares/worker-fixtures.ts'
import { newKeyText } from '../support/api-server.ts'
import { runFarewatch, startInTest } from '../support/child-process.ts'
import { setReadOnly } from '../support/read-only.ts'
import { freePort } from '../support/redis-tier.ts'
import { runCommand } from '../support/run-command.ts'
import { it } from '../support/test-database.ts'
import { until } from '../support/until.ts'
import { HEALTHY, putState } from '../upstream/health-fixtures.ts'
import { newReseller } from '../watches/watch-fixtures.ts'

/** Codes that no entry provokes, each with the reason and the test that does. */
const ELSEWHERE: Readonly<Record<string, string>> = {
  disk_filling: 'needs a disk of its own: test/grafana/disk-filling.nightly.pg.test.ts',
  queue_down: 'needs a Redis that is down: test/cli/doctor.long.pg.test.ts',
  no_process: 'the API that shows it is a process: test/health/checks.test.ts',
  max_delays_unkept: 'a matter of the reading alone: test/health/checks.test.ts',
  upstream_paused: 'ends by itself within the time of a test: test/health/checks.test.ts',
  budget_limited: 'follows a pause of the upstream: test/health/checks.test.ts',
  changes_held: 'needs a mass of real answers: test/fares/alike-masses.long.pg.test.ts',
}

interface World {
  readonly db: Db
  readonly url: string
  readonly env: Readonly<Record<string, string>>
}

type Change = (world: World) => Promise<unknown>

/** Codes, what provokes them, and what ends them. */
type Entry = readonly [codes: string, provoke: Change, end: Change]

const run =
  (...statements: readonly RawBuilder<unknown>[]) =>
  async ({ db }: World) => {
    for (const statement of statements) await statement.execute(db)
  }
const command =
  (...args: readonly string[]) =>
  async ({ env }: World) => {
    const { exit, stderr } = await runCommand(args, env)
    if (exit !== 0) throw new Error(stderr)
  }
const nothing = async () => undefined

const NO_FARES = [
  sql`delete from turn`,
  sql`update reseller_queue set fares = 0, scores = 0`,
  sql`delete from fare_schedule`,
  sql`update fare_state set expired_at = clock_timestamp() - interval '1 day'`,
  sql`delete from watch`,
]
const NO_ENDPOINTS = sql`delete from webhook_endpoint`
const openBreaker =
  (breaker: 'auth' | 'errors', isOpen: boolean) =>
  ({ db }: World) =>
    putState(db, ['verify', breaker], {
      ...HEALTHY,
      open: isOpen
        ? {
            sinceMs: Date.now() - 5_000,
            probeAtMs: Date.now() + 600_000,
            cause: '401',
            goodAtMs: null,
          }
        : null,
    } as never)

const paused = (what: string): Entry => [
  `${what}_paused`,
  command('pause', what, '--reason', 'tests'),
  command('resume', what),
]

const process = (columns: RawBuilder<unknown>) => sql`
  insert into process (id, role, version, host, pid, started_at, last_progress_at, clock_ahead_seconds)
  values (gen_random_uuid(), 'worker', '1.0.0', 'elsewhere', 7, clock_timestamp() - interval '1 hour', ${columns})
`
const NO_PROCESS = sql`delete from process where host = 'elsewhere'`

const endpoint =
  (columns: RawBuilder<unknown>) =>
  async ({ db }: World) => {
    const { rows } = await sql<{ id: number }>`select id from reseller where name = 'ana'`.execute(
      db,
    )
    const id = await addEndpoint(db, rows[0]?.id ?? (await newReseller(db, 'ana')))
    await sql`update webhook_endpoint set ${columns} where id = ${id}`.execute(db)
    return { db, id }
  }
const delivery = (columns: RawBuilder<unknown>) => async (world: World) => {
  const { db, id } = await endpoint(sql`failures = 0`)(world)
  await sql`
    insert into delivery (endpoint_id, type, payload, recorded_at, state, due_at, ended_at, dead_reason)
    values (${id}, 'webhook.test', '{}', clock_timestamp() - interval '10 minutes', ${columns})
  `.execute(db)
}

const ENTRIES: readonly Entry[] = [
  [
    'list_never_accepted',
    nothing,
    run(sql`
      insert into sync_run (list, status, started_at, fetched_at, finished_at)
      select list, 'unchanged', at, at, at
        from unnest(array['routes', 'with-availability']) list,
             (select clock_timestamp() - interval '10 minutes' as at) ago
    `),
  ],
  [
    'list_failing',
    run(sql`
      insert into sync_run (list, status, started_at, finished_at, reason_code, reason)
      select 'routes', 'failed', at, at, 'upstream.timeout', 'no answer'
        from (select clock_timestamp() - interval '4 minutes' as at) ago
    `),
    run(sql`delete from sync_run where status = 'failed'`),
  ],
  [
    'list_held',
    run(
      sql`
        insert into sync_run (list, status, reason_code, reason, fetched_at, finished_at)
        values ('routes', 'held', 'guard.empty', 'the list is empty', clock_timestamp(), clock_timestamp())
      `,
      sql`insert into held_list (list, first_run_id, lists) select list, id, 1 from sync_run where status = 'held'`,
    ),
    run(sql`delete from held_list`, sql`delete from sync_run where status = 'held'`),
  ],
  [
    'list_overdue',
    (world) => reconcile(world, '* * * * * *'),
    (world) => reconcile(world, '0 0 1 1 *'),
  ],
  paused('checks'),
  paused('syncs'),
  paused('deliveries'),
  [
    'budget_limit',
    command('budget', 'limit', '1', '--to', '1h', '--reason', 'tests'),
    command('budget', 'limit', '--off'),
  ],
  ['fares_unanswered', ({ db }) => trackFare(db, { flightId: 'U1' }), run(...NO_FARES)],
  [
    'fares_stale',
    async ({ db }) => {
      await record(
        db,
        await trackFare(db, { flightId: 'S1' }),
        new Date(Date.now() - 1_000),
        available(),
      )
      await passSeconds(db, 3 * 86_400)
    },
    run(...NO_FARES),
  ],
  [
    'fares_silent',
    async ({ db }) => {
      const fareId = await trackFare(db, { flightId: 'N1' })
      await record(db, fareId, new Date(Date.now() - 2_000), available())
      await record(db, fareId, new Date(Date.now() - 1_000), silent)
      await sql`update fare_state set unusable = 5, hidden = 'unanswered' where unusable > 0`.execute(
        db,
      )
    },
    run(...NO_FARES),
  ],
  [
    'changes_late',
    async ({ db }) => {
      for (let i = 0; i < LIMITS.lateChanges; i += 1) {
        const fareId = await trackFare(db, { flightId: `L${i}` })
        await watchFare(db, 'ana', fareId)
        await record(db, fareId, new Date(Date.now() - 2_000), available())
        await record(db, fareId, new Date(Date.now() - 1_000), gone)
      }
      await sql`
        update fare_state
           set contradicted_since = clock_timestamp() - interval '10 minutes', held_since = null,
               last_good_check_at = clock_timestamp() - interval '20 minutes',
               price_checked_at = clock_timestamp() - interval '20 minutes'
         where contradicted_since is not null
      `.execute(db)
    },
    run(...NO_FARES, sql`delete from incident`),
  ],
  ['budget_too_small', ({ db }) => trackFares(db, 20_000), run(...NO_FARES)],
  ['credential_refused', openBreaker('auth', true), openBreaker('auth', false)],
  ['calls_failing', openBreaker('errors', true), openBreaker('errors', false)],
  [
    'checks_unknown',
    run(sql`
      insert into check_minute (minute, checks, unknown)
      select date_trunc('minute', clock_timestamp()) + n * interval '1 minute', 10, 9 from generate_series(-2, 9) n
          on conflict (minute) do update set checks = excluded.checks, unknown = excluded.unknown
    `),
    run(sql`delete from check_minute`),
  ],
  [
    'answers_unusual',
    run(sql`insert into answer_habit (name, answers) values ('odd', 3)`),
    run(sql`delete from answer_habit`),
  ],
  ...MASS_KINDS.map(
    (kind): Entry => [
      kind,
      run(sql`insert into incident (kind) values (${kind})`),
      run(sql`delete from incident`),
    ],
  ),
  [
    'endpoints_failing',
    endpoint(sql`failures = 1, failing_since = clock_timestamp()`),
    run(NO_ENDPOINTS),
  ],
  [
    'endpoints_disabled',
    endpoint(sql`disabled_at = clock_timestamp(), disabled_reason = 'gone'`),
    run(NO_ENDPOINTS),
  ],
  [
    'endpoints_failing_for_hours',
    async (world) => {
      const { db, id } = await endpoint(sql`
        failures = 9, failing_since = clock_timestamp() - interval '3 hours', open_until = clock_timestamp() + interval '1 hour'
      `)(world)
      await sql`
        insert into delivery (endpoint_id, type, payload, recorded_at)
        values (${id}, 'webhook.test', '{}', clock_timestamp())
      `.execute(db)
    },
    run(NO_ENDPOINTS),
  ],
  [
    'deliveries_dying',
    delivery(sql`'dead', null, clock_timestamp(), 'too_old'`),
    run(NO_ENDPOINTS),
  ],
  [
    'deliveries_late',
    delivery(sql`'pending', clock_timestamp() - interval '10 minutes', null, null`),
    run(NO_ENDPOINTS),
  ],
  [
    'jobs_dead',
    ({ url }) => killJobs(queueIn(url), { queue: VERIFY_QUEUE, count: 2, message: 'a bug' }),
    command('jobs', 'drop', VERIFY_QUEUE, '--all', '--yes'),
  ],
  [
    'process_silent',
    run(process(sql`clock_timestamp() - interval '10 minutes', 0`)),
    run(NO_PROCESS),
  ],
  ['clock_wrong', run(process(sql`clock_timestamp() + interval '5 minutes', 60`)), run(NO_PROCESS)],
  ['database_read_only', ({ url }) => setReadOnly(url, true), ({ url }) => setReadOnly(url, false)],
  [
    'no_tick role_missing',
    nothing,
    ({ env }) => untilReady(startInTest(['worker'], { ...env, ADMIN_PORT: '0' })),
  ],
]

function queueIn(url: string) {
  return queueOf({ env: {}, connection: { kind: 'postgres', url } })
}

async function reconcile({ url }: World, pattern: string): Promise<void> {
  const times = { pattern, zone: 'UTC' }
  const scheduler = { name: 'sync-routes', times, payload: { list: 'routes' }, attempts: 1 }
  await queueIn(url).reconcile(SYNC_QUEUE, [scheduler])
}

/** Times pass between two faces. */
function textsOf(warnings: readonly StatusWarning[], code: string): string[] {
  const own = warnings.filter((one) => one.code === code)
  return own.map(({ text }) => text.replaceAll(/\d+ (s|min|h|d)\b( \d+ \w+)?/g, 'a while'))
}

async function startApi(databaseUrl: string) {
  const [admin, api] = [await freePort(), await freePort()]
  const env = {
    DATABASE_URL: databaseUrl,
    UPSTREAM_BASE_URL: 'http://127.0.0.1:9',
    ROUTE_SYNC_SCHEDULE: '0 0 1 1 *',
    AVAILABILITY_SYNC_SCHEDULE: '0 0 1 1 *',
    API_PORT: String(api),
    ADMIN_PORT: String(admin),
  }
  await untilReady(startInTest(['api'], env))
  const json = async (url: string, init?: RequestInit) => (await fetch(url, init)).json() as never
  return {
    env,
    readApi: async (key: string): Promise<readonly StatusWarning[]> => {
      const headers = { authorization: `Bearer ${key}` }
      const url = `http://127.0.0.1:${api}/api/v1/status`
      return ((await json(url, { headers })) as { warnings: StatusWarning[] }).warnings ?? []
    },
    readHealth: async (): Promise<readonly StatusWarning[]> => {
      const url = `http://127.0.0.1:${admin}/readyz?verbose`
      const { warnings } = (await json(url)) as { warnings: readonly StatusWarning[] | null }
      return warnings ?? []
    },
    countInMetrics: async (code: string): Promise<number> => {
      const text = await (await fetch(`http://127.0.0.1:${admin}/metrics`)).text()
      const lines =
        text.match(new RegExp(`^farewatch_warnings\\{.*code="${code}".*\\} \\d+`, 'gm')) ?? []
      return lines.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0)
    },
  }
}

it('every check is in all faces with one text while it fails, and in none afterwards', {
  timeout: 1_800_000,
}, async ({ db, databaseUrl }) => {
  const { env, ...faces } = await startApi(databaseUrl)
  const key = await newKeyText(db)
  const world = { db, url: databaseUrl, env }
  const printed = async (name: string): Promise<readonly StatusWarning[]> => {
    const { stdout } = await runFarewatch([name, '--json'], { ...env, FAREWATCH_KEY: key })
    return (JSON.parse(stdout) as { warnings: readonly StatusWarning[] }).warnings
  }
  const readAll = async (code: string) => ({
    api: textsOf(await faces.readApi(key), code),
    health: textsOf(await faces.readHealth(), code),
    status: textsOf(await printed('status'), code),
    doctor: textsOf(await printed('doctor'), code),
  })

  for (const [words, provoke, end] of ENTRIES) {
    const codes = words.split(' ')
    await provoke(world)
    for (const code of codes) {
      await until(`${code} begins`, async () => textsOf(await faces.readApi(key), code).length > 0)
      const { api, ...others } = await readAll(code)
      expect(others, code).toEqual({ health: api, status: api, doctor: api })
      await until(
        `${code} in the metrics`,
        async () => (await faces.countInMetrics(code)) === api.length,
      )
    }
    await end(world)
    for (const code of codes) {
      await until(`${code} ends`, async () => textsOf(await faces.readApi(key), code).length === 0)
      expect(await readAll(code), code).toEqual({ api: [], health: [], status: [], doctor: [] })
      await until(`${code} in no metric`, async () => (await faces.countInMetrics(code)) === 0)
    }
  }
  const provoked = ENTRIES.flatMap(([codes]) => codes.split(' '))
  const known = [...provoked, ...Object.keys(ELSEWHERE)]
  expect(Object.keys(STATUS_CHECKS).filter((code) => !known.includes(code))).toEqual([])
})
