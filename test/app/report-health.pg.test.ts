import http from 'node:http'
import { text } from 'node:stream/consumers'
import { describe, expect, onTestFinished } from 'vitest'
import { type App, openApp } from '../../src/app/app.ts'
import { createHealthReports } from '../../src/app/report-health.ts'
import { targetRulesOf } from '../../src/app/settings-for.ts'
import { createEndpoint } from '../../src/delivery/endpoints/change-endpoints.ts'
import type { NewEndpoint } from '../../src/delivery/endpoints/endpoint-settings.ts'
import { OPERATORS } from '../../src/platform/base/kinds.ts'
import type { ResellerId } from '../../src/platform/base/reseller-id.ts'
import { loadConfig } from '../../src/platform/config/config.ts'
import { type Db, sql } from '../../src/platform/db/database.ts'
import type { QueueSystem } from '../../src/platform/queue/queue-system.ts'
import { listenLocally } from '../support/local-server.ts'
import { openWithSetClock } from '../support/set-clock.ts'
import { silentLog } from '../support/silent-log.ts'
import { it } from '../support/test-database.ts'

const START = new Date('2026-03-02T12:00:00Z')
const never = new AbortController().signal

/** Processes whose clocks, and that of their database, the test sets. */
async function openWorld(databaseUrl: string, isQueueUp = true) {
  let at = START
  const { db, setClock } = await openWithSetClock(databaseUrl, START)
  const config = {
    ...loadConfig({
      DATABASE_URL: databaseUrl,
      ENCRYPTION_KEY: 'a-key-of-this-test-0123456789abcdef',
      WEBHOOK_ALLOW_HTTP: 'on',
      WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8',
    }),
    DATABASE_URL: databaseUrl,
    UPSTREAM_BASE_URL: 'http://127.0.0.1:9/',
  }
  const clock = { now: () => at, sleep: () => Promise.reject(new Error('nothing sleeps here')) }
  const opened = openApp({ config, log: silentLog, clock, role: 'worker' })
  onTestFinished(() => opened.close())
  const app = { ...opened, database: { ...opened.database, db } } as App
  const queue = {
    kind: 'redis',
    counts: async () => {
      if (isQueueUp) return { waiting: 0, active: 0, delayed: 0, failed: 0 }
      throw new Error('ECONNREFUSED')
    },
    schedulers: async () => [],
    jobs: async () => [{ name: 'prune', endedAt: at, failure: null }],
  } as unknown as QueueSystem
  return {
    app,
    db,
    /** A process that has just started; its function reads what is wrong. */
    start: (options: Partial<Parameters<typeof createHealthReports>[2]> = {}) => {
      const { loop, close } = createHealthReports(app, queue, { works: true, ...options })
      onTestFinished(close)
      return () => loop.run(never)
    },
    pass: async (minutes: number) => {
      at = new Date(at.getTime() + minutes * 60_000)
      await setClock(at)
      await sql`update process set last_progress_at = ${at}`.execute(db)
    },
  }
}

async function startProcess(db: Db, role: string): Promise<void> {
  await sql`
    insert into process (id, role, version, host, pid, started_at, last_progress_at)
    values (gen_random_uuid(), ${role}, '1.0.0', 'a', 7, ${START}, ${START})
  `.execute(db)
}

async function pause(db: Db, what: string, from: Date): Promise<void> {
  await sql`
    insert into pause (what, starts_at, ends_at, reason, made_by) values (${what}, ${from}, 'infinity', 'tests', 'cli')
  `.execute(db)
}

const resume = (db: Db) => sql`delete from pause`.execute(db)

async function operatorEndpoint({ app, db }: { app: App; db: Db }, given: Partial<NewEndpoint>) {
  const owner = { db, resellerId: OPERATORS.id as ResellerId }
  const deps = { sealer: app.sealer, targetRules: targetRulesOf(app.config) }
  const { id } = await createEndpoint(owner, deps, { target: 'http://127.0.0.1:9/hook', ...given })
  return id
}

/** What waits for an endpoint, by code, and in how many minutes it is due. The disk may be full, and nothing is delivered here. */
async function sentTo(db: Db, endpointId: string) {
  const { rows } = await sql<{ type: string; code: string; dueAt: Date; recordedAt: Date }>`
    select type, payload ->> 'code' as code, due_at as "dueAt", recorded_at as "recordedAt"
      from delivery where endpoint_id = ${endpointId} and payload ->> 'code' not in ('disk_filling', 'deliveries_late') order by recorded_at, code
  `.execute(db)
  return rows.map(({ type, code, dueAt, recordedAt }) => {
    const minutes = (dueAt.getTime() - recordedAt.getTime()) / 60_000
    return `${type} ${code}${minutes === 0 ? '' : ` in ${minutes} min`}`
  })
}

const LISTS = ['warning.began list_never_accepted', 'warning.began list_never_accepted']

describe('the endpoints of operators', () => {
  it('receive what begins, grows worse and ends, once for all workers and restarts', async ({
    databaseUrl,
  }) => {
    const world = await openWorld(databaseUrl)
    const { db, pass, start } = world
    await startProcess(db, 'worker')
    const id = await operatorEndpoint(world, {})
    const [first, second] = [start(), start()]
    await first()
    await pause(db, 'checks', new Date(START.getTime() - 11 * 3_600_000 - 58 * 60_000))
    await pass(1)
    await Promise.all([first(), second()])
    await pass(1)
    await Promise.all([first(), second()])
    await pass(1)
    await start()()
    await resume(db)
    for (let minute = 0; minute < 7; minute += 1) {
      await pass(1)
      await Promise.all([first(), second()])
    }

    expect(await sentTo(db, id)).toEqual([
      ...LISTS,
      'warning.began checks_paused',
      'warning.worsened checks_paused',
      'warning.ended checks_paused',
    ])
  })

  it('wait for a digest and for the end of quiet hours, except for what is critical', async ({
    databaseUrl,
  }) => {
    const world = await openWorld(databaseUrl, false)
    const { app, db, pass, start } = world
    const slack = { format: 'ntfy', target: 'https://ntfy.sh/farewatch-tests' } as const
    expect(app.config.NTFY_HOSTS).toContain('ntfy.sh')
    const quietHours = { from: 12, to: 14, zone: 'UTC' }
    const quiet = await operatorEndpoint(world, { ...slack, quietHours })
    const hourly = await operatorEndpoint(world, {
      ...slack,
      digest: { type: 'interval', every: '1h' },
    })
    await startProcess(db, 'worker')
    const read = start()

    await read()
    await pass(1)
    await read()

    const inTime = (minutes: number) => [
      ...LISTS.map((one) => `${one} in ${minutes} min`),
      'warning.began queue_down',
    ]
    expect(await sentTo(db, quiet)).toEqual(inTime(119))
    expect(await sentTo(db, hourly)).toEqual(inTime(59))
  })
})

/** A service that expects the heartbeat, and what it received. */
async function startService(status: number) {
  const received: string[] = []
  const server = http.createServer((request, response) => {
    void text(request).then((body) => {
      received.push(`${request.method} ${body}`)
      response.writeHead(status).end()
    })
  })
  const { url, close } = await listenLocally(server)
  onTestFinished(close)
  return { url, received }
}

it('the heartbeat has what is wrong, and is silent while a part of the work stands still', async ({
  databaseUrl,
}) => {
  const { url, received } = await startService(200)
  const { db, start } = await openWorld(databaseUrl)
  const run = start({ heartbeatUrl: url })

  await run()
  await startProcess(db, 'sync+check')
  await run()
  expect(received).toEqual([])
  await startProcess(db, 'deliver')
  await run()

  expect(received).toHaveLength(1)
  expect(received[0]).toMatch(
    /^POST warn list_never_accepted: No list routes has been accepted yet\.\n/,
  )
})
