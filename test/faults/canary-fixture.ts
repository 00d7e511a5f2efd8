import { onTestFinished } from 'vitest'
import { type Sandbox, startSandbox } from '../../sandbox/sandbox-server.ts'
import { systemClock } from '../../src/platform/base/clock.ts'
import { type Db, sql } from '../../src/platform/db/database.ts'
import { makeDue, makeWait } from '../fares/worker-fixtures.ts'
import { folderWith } from '../platform/config/config-fixture.ts'
import { searchDemoFlights } from '../sandbox/changing-flights.ts'
import { type RunningCommand, runFarewatch, startInTest } from '../support/child-process.ts'
import { silentLog } from '../support/silent-log.ts'
import { until } from '../support/until.ts'
import { cells, resellerWith } from '../watches/watch-fixtures.ts'
import { resetHealth } from './fare-facts.ts'
import { type Finding, SEARCHED_SECRET } from './secret-search.ts'

const FARES = 100
const RETURN_EVERY = 4
const START_WITHIN_MS = 60_000

/** Real processes with an upstream whose credential is the searched secret, and all their output. */
export interface CanaryFixture {
  readonly db: Db
  readonly sandbox: Sandbox
  readonly flight: string
  readonly worker: RunningCommand
  readonly api: RunningCommand
  readonly findings: Finding[]
  /** Runs a command and keeps what it printed. */
  run(...args: string[]): Promise<{ readonly exit: number | string; readonly stdout: string }>
  /** Deletes all incidents and health, and makes every fare due. */
  reset(): Promise<void>
  /** The same with no fare due, so that the budget is free for other calls. */
  idle(): Promise<void>
}

export async function startCanaryFixture(
  db: Db,
  { databaseUrl, redisUrl }: { databaseUrl: string; redisUrl: string | undefined },
): Promise<CanaryFixture> {
  const options = { port: 0, seed: 7, speed: 1, clock: systemClock, log: silentLog }
  const sandbox = await startSandbox({ ...options, token: SEARCHED_SECRET })
  onTestFinished(() => sandbox.close())
  const flights = searchDemoFlights(sandbox.world, sandbox.now(), 2 * FARES)
  await resellerWith(db, rowsOf(flights), 'ana')
  const env = {
    DATABASE_URL: databaseUrl,
    ...(redisUrl === undefined ? {} : { REDIS_URL: redisUrl }),
    UPSTREAM_BASE_URL: sandbox.url,
    UPSTREAM_ACCESS_TOKEN: SEARCHED_SECRET,
    UPSTREAM_REQUESTS_PER_SECOND: '200',
    MIN_INTERVAL_SECONDS: '1',
    ROUTE_SYNC_SCHEDULE: '0 0 1 1 *',
    AVAILABILITY_SYNC_SCHEDULE: '0 0 1 1 *',
    LOG_LEVEL: 'trace',
    API_PORT: '0',
    ADMIN_PORT: '0',
  }
  const folder = folderWith()
  const [worker, api] = [startService('worker', env, folder), startService('api', env, folder)]
  const findings: Finding[] = []
  const reset = async () => {
    await resetHealth(db)
    await sql`delete from incident`.execute(db)
    await sql`delete from check_minute`.execute(db)
  }
  return {
    db,
    sandbox,
    flight: flights[0] ?? '',
    worker,
    api,
    findings,
    async run(...args) {
      const { exit, stdout, stderr } = await runFarewatch([...args, '--database'], env, folder)
      findings.push({ where: `farewatch ${args.join(' ')}`, content: `${stdout}\n${stderr}` })
      return { exit, stdout }
    },
    async reset() {
      await reset()
      await makeDue(db)
    },
    async idle() {
      await makeWait(db)
      await reset()
    },
  }
}

function rowsOf(flights: readonly string[]) {
  return flights.slice(0, FARES).map((id, i) =>
    cells({
      reference: `R${id}`,
      flight_id: id,
      ...(i % RETURN_EVERY === 0 ? { return_flight_id: flights[FARES + i] ?? '' } : {}),
    }),
  )
}

function startService(
  name: string,
  env: Readonly<Record<string, string>>,
  folder: string,
): RunningCommand {
  return startInTest([name], env, folder)
}

/** The addresses of a service. Only the API role has `api`. */
export interface ServiceAddresses {
  readonly api?: string
  readonly health: string
  readonly metrics: string
}

/** The addresses that a service logs when it is ready. */
export async function addressesOf(service: RunningCommand): Promise<ServiceAddresses> {
  const ready = () =>
    service
      .stdout()
      .split('\n')
      .find((text) => text.includes('"msg":"ready"'))
  const line = await until('a service that is ready', ready, START_WITHIN_MS)
  return JSON.parse(line) as ServiceAddresses
}

/** The answer of an address, with its head and body. */
export async function fetched(url: string, init: RequestInit = {}): Promise<Finding> {
  const response = await fetch(url, init)
  const head = JSON.stringify([response.status, ...response.headers])
  return { where: url.replace(/\?.*/, ''), content: `${head}\n${await response.text()}` }
}
