import { describe, expect, onTestFinished } from 'vitest'
import { startChaosPostgres } from '../chaos/chaos-postgres.ts'
import { mountSmallDisk } from '../chaos/small-disk.ts'
import { startReceiver } from '../delivery/receiver.ts'
import { untilReady } from '../fares/worker-fixtures.ts'
import { manyRoutes } from '../routes/sync-fixtures.ts'
import { startInTest } from '../support/child-process.ts'
import { startListServer } from '../support/list-server.ts'
import { setReadOnly } from '../support/read-only.ts'
import { runCommand } from '../support/run-command.ts'
import { it } from '../support/test-database.ts'
import { until } from '../support/until.ts'

const KEY = 'a-key-of-this-test-0123456789abcdef'
/** A second message about the same would come with the next reading, or the one after it. */
const REST_MS = 150_000
/** A worker, an API and an endpoint of operators. */
async function startInstallation(databaseUrl: string, settings: Readonly<Record<string, string>>) {
  const receiver = await startReceiver()
  onTestFinished(() => receiver[Symbol.asyncDispose]())
  const env = {
    DATABASE_URL: databaseUrl,
    UPSTREAM_BASE_URL: 'http://127.0.0.1:9',
    UPSTREAM_REQUESTS_PER_SECOND: '20',
    MIN_INTERVAL_SECONDS: '5',
    ENCRYPTION_KEY: KEY,
    WEBHOOK_ALLOW_HTTP: 'on',
    WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8',
    ROUTE_SYNC_SCHEDULE: '*/10 * * * * *',
    AVAILABILITY_SYNC_SCHEDULE: '*/10 * * * * *',
    ADMIN_PORT: '0',
    API_PORT: '0',
    ...settings,
  }
  const target = `${receiver.url}/operators`
  const made = await runCommand(['endpoints', 'create', '--operator', '--target', target], env)
  expect(made).toMatchObject({ exit: 0 })
  const worker = startInTest(['worker'], env)
  const api = startInTest(['api'], env)
  await untilReady(worker)
  await untilReady(api)
  const arrived = () => receiver.requests.map(({ body }) => JSON.parse(body).data)
  return { worker, arrived }
}

interface Timed {
  readonly cause: string
  readonly codes: readonly string[]
  readonly withinMs: number
  readonly arrived: () => { readonly code: string; readonly message: string }[]
}

/** Waits for a message about one of the codes, and expects no other one about them. */
async function expectOnce({ cause, codes, withinMs, arrived }: Timed): Promise<void> {
  const startedMs = Date.now()
  const own = () => arrived().filter(({ code }) => codes.includes(code))
  await until(cause, () => own().length > 0, withinMs)
  const seconds = Math.round((Date.now() - startedMs) / 1_000)
  await new Promise((resolve) => setTimeout(resolve, REST_MS))
  const others = arrived().filter(({ code }) => !codes.includes(code))
  process.stdout.write(
    `${cause}: after ${seconds} s "${own()[0]?.message}", ${own().length} time(s); also ${others.map(({ code }) => code).join(', ') || 'nothing'}\n`,
  )
  expect(own()).toHaveLength(1)
}

const STOPPED = ['no_tick', 'no_process', 'role_missing']

describe('an operator without Prometheus receives once', { timeout: 600_000 }, () => {
  it('that the only worker was killed, from the API', async ({ databaseUrl }) => {
    const lists = await startListServer()
    onTestFinished(() => lists.close())
    lists.serve({ routes: manyRoutes(40), available: manyRoutes(40) })
    const { worker, arrived } = await startInstallation(databaseUrl, {
      UPSTREAM_BASE_URL: lists.url,
    })

    worker.child.kill('SIGKILL')

    await expectOnce({ cause: 'worker killed', codes: STOPPED, withinMs: 240_000, arrived })
  })

  it('that the database takes no writes, from memory', async ({ databaseUrl }) => {
    const lists = await startListServer()
    onTestFinished(() => lists.close())
    lists.serve({ routes: manyRoutes(40), available: manyRoutes(40) })
    const { arrived } = await startInstallation(databaseUrl, { UPSTREAM_BASE_URL: lists.url })
    await new Promise((resolve) => setTimeout(resolve, 5_000))

    await setReadOnly(databaseUrl, true)

    const codes = ['database_read_only', 'database_down']
    await expectOnce({ cause: 'database read-only', codes, withinMs: 240_000, arrived })
  })
})

const disk = await mountSmallDisk(400)

describe.runIf(disk !== undefined)('an operator without Prometheus', { timeout: 600_000 }, () => {
  it('receives once that the disk is full, from memory', async () => {
    if (disk === undefined) throw new Error('there is no small disk')
    onTestFinished(() => disk.close())
    const postgres = await startChaosPostgres(disk.folder)
    onTestFinished(() => postgres.close())
    const databaseUrl = await postgres.createDatabase('farewatch_operators_test')
    const { arrived } = await startInstallation(databaseUrl, {})

    await disk.fill()

    const codes = ['database_down', 'database_read_only']
    await expectOnce({ cause: 'disk full', codes, withinMs: 300_000, arrived })
  })
})
