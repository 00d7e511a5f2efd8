import { type Sandbox, startSandbox } from '../../sandbox/sandbox-server.ts'
import { systemClock } from '../../src/platform/base/clock.ts'
import { type Database, openDatabase } from '../../src/platform/db/database.ts'
import { createReseller } from '../../src/resellers/resellers.ts'
import { importWatchList } from '../../src/watches/import/import-watch-list.ts'
import { rowsOf } from '../../src/watches/rows/watch-row.ts'
import { searchDemoFlights } from '../sandbox/changing-flights.ts'
import { addressesOf, runFarewatch, startFarewatch } from '../support/child-process.ts'
import { freePort, startRedisServer, stopRedisServer } from '../support/redis-tier.ts'
import { runCommand } from '../support/run-command.ts'
import { silentLog } from '../support/silent-log.ts'
import { cloneDatabase } from '../support/test-database.ts'
import { type Prometheus, startPrometheus } from './prometheus-server.ts'

/** A running farewatch with a sandbox, and a Prometheus that scrapes it. */
export interface LiveFixture {
  readonly sandbox: Sandbox
  readonly database: Database
  readonly prometheus: Prometheus
  /** The id of a watched flight. */
  readonly flightId: string
  /** The base URL of the API. */
  readonly api: string
  /** Runs a command with the configuration of the running farewatch. */
  run(...args: string[]): Promise<{ exit: number | string; stdout: string; stderr: string }>
  /** Ends farewatch. */
  end(): Promise<void>
  close(): Promise<void>
}

const TOKEN = 'a-token-for-the-live-fixture'
/** Ten minutes of sandbox time a second, so that fares change during the test. */
const SPEED = 600
/** Few enough that their losses together are no mass loss. */
const CHANGING = 16
const QUIET = 110

/**
 * Each fare is checked about every other second. The list of available routes is fetched every five seconds, the list of
 * all routes only at the start, so that no scheduled run changes what a test has done with it.
 */
const SETTINGS = {
  UPSTREAM_ACCESS_TOKEN: TOKEN,
  UPSTREAM_REQUESTS_PER_SECOND: '60',
  MIN_INTERVAL_SECONDS: '1',
  ROUTE_SYNC_SCHEDULE: '0 0 1 1 *',
  AVAILABILITY_SYNC_SCHEDULE: '*/5 * * * * *',
  API_REQUESTS_PER_SECOND: '1000',
  ENCRYPTION_KEY: Buffer.alloc(32, 7).toString('base64'),
  WEBHOOK_ALLOW_HTTP: 'on',
  WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8',
}

export async function prepareLiveFixture(): Promise<LiveFixture> {
  const started: (() => Promise<unknown>)[] = []
  const close = async () => {
    for (const stop of started.splice(0).reverse()) await stop()
  }
  try {
    const sandbox = await openSandbox()
    started.push(() => sandbox.close())
    const clone = await cloneDatabase()
    started.push(() => clone.drop())
    const database = openDatabase({ url: clone.url, applicationName: 'test', log: silentLog })
    started.push(() => database.close())
    const flightId = await watchFlights(database, sandbox)
    const redisPort = await freePort()
    const redis = await startRedisServer(redisPort)
    started.push(() => stopRedisServer(redis))
    const env = {
      ...SETTINGS,
      DATABASE_URL: clone.url,
      REDIS_URL: `redis://127.0.0.1:${redisPort}`,
      UPSTREAM_BASE_URL: sandbox.url,
      API_PORT: String(await freePort()),
      ADMIN_PORT: String(await freePort()),
    }
    const up = startFarewatch(['up'], env)
    const end = async () => {
      up.child.kill('SIGTERM')
      await up.ended
    }
    started.push(end)
    await addressesOf(up)
    const prometheus = await startPrometheus(`127.0.0.1:${env.ADMIN_PORT}`)
    started.push(() => prometheus.close())
    // "doctor" ends its process. All other commands run in that of the test.
    const run = (...args: string[]) => (args[0] === 'doctor' ? runFarewatch : runCommand)(args, env)
    const api = `http://127.0.0.1:${env.API_PORT}`
    return { sandbox, database, prometheus, flightId, api, run, end, close }
  } catch (err) {
    await close()
    throw err
  }
}

/** Starts a sandbox with the faults of an ordinary bad day. */
function openSandbox(): Promise<Sandbox> {
  return startSandbox({
    port: 0,
    seed: 7,
    speed: SPEED,
    token: TOKEN,
    clock: systemClock,
    log: silentLog,
    faults: ORDINARY_FAULTS,
  })
}

export const ORDINARY_FAULTS = [
  { name: 'status', endpoint: 'verify', probability: 0.05, code: 503 },
  { name: 'odd-prices', endpoint: 'verify', probability: 0.05 },
  { name: 'extra-fields', endpoint: 'verify', probability: 0.05 },
  { name: 'id-missing', endpoint: 'verify', probability: 0.02 },
  { name: 'conflicting-places', endpoint: 'with-availability', probability: 0.5 },
] as const

async function watchFlights({ db }: Database, sandbox: Sandbox): Promise<string> {
  const found = searchDemoFlights(sandbox.world, sandbox.now(), 4 * QUIET)
  const flights = [...found.slice(0, CHANGING), ...found.slice(-QUIET)]
  const { id } = await createReseller(db, 'ana')
  const rows = flights.map((flightId, i) => ({
    list: 'live',
    reference: `w${i}`,
    flight_id: flightId,
    residents_adults: '0',
    non_residents_adults: '1',
  }))
  await importWatchList(db, { resellerId: id, source: rowsOf('ana', rows) })
  return flights.at(-1) ?? ''
}
