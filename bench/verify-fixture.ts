/** The fixture of bench/verify.ts: an embedded PostgreSQL with durable settings, watched fares, an upstream. */
import { fork, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import net from 'node:net'
import os from 'node:os'
import path from 'node:path'
import { type App, migrateApp, openApp, openQueue } from '../src/app/app.ts'
import { startWork } from '../src/app/work.ts'
import { acquireEmbeddedPostgres } from '../src/embedded/postgres.ts'
import { SUPERUSER } from '../src/embedded/postgres-data.ts'
import { findPlace } from '../src/embedded/postgres-place.ts'
import { systemClock } from '../src/platform/base/clock.ts'
import { createLogger } from '../src/platform/base/logger.ts'
import { loadConfig } from '../src/platform/config/config.ts'
import { type Db, sql } from '../src/platform/db/database.ts'
import { selectOne } from '../src/platform/db/transaction.ts'
import { createReseller } from '../src/resellers/resellers.ts'
import { importWatchList } from '../src/watches/import/import-watch-list.ts'
import { rowsOf } from '../src/watches/rows/watch-row.ts'

export const log = createLogger({
  level: 'silent',
  scrub: (text) => text,
  destination: { write: () => undefined },
})

export interface Fixture {
  readonly databaseUrl: string
  /** The address of the same database for its superuser. */
  readonly superuserUrl: string
  readonly upstreamUrl: string
  /** Makes the upstream leave this share of the requests unanswered. */
  hang(share: number): void
  /** When the upstream last answered each flight, in milliseconds since 1970. */
  answers(): Promise<[flightId: string, atMs: number][]>
  /** CPU time of all PostgreSQL processes so far. */
  postgresCpuSeconds(): number
  close(): Promise<void>
}

export async function openFixture(): Promise<Fixture> {
  const home = await mkdtemp(path.join(os.tmpdir(), 'farewatch-bench-'))
  const postgres = await acquireEmbeddedPostgres({ home, log })
  const { directory, data, passwordFile } = await findPlace(home)
  const superuser = new URL(postgres.url)
  superuser.username = SUPERUSER
  superuser.password = readFileSync(passwordFile, 'utf8').trim()
  const postmaster = readPostmaster(data)
  const upstream = fork(path.join(import.meta.dirname, 'verify-upstream.ts'))
  const [port] = (await once(upstream, 'message')) as [number]
  return {
    databaseUrl: postgres.url,
    superuserUrl: superuser.href,
    upstreamUrl: `http://127.0.0.1:${port}`,
    hang: (share) => void upstream.send(share),
    answers: async () => {
      upstream.send('answers')
      const [answered] = await once(upstream, 'message')
      return answered as [string, number][]
    },
    postgresCpuSeconds: () => cpuSecondsOfServer(postmaster),
    close: async () => {
      upstream.disconnect()
      await postgres.release()
      await rm(directory, { recursive: true, force: true })
      await rm(home, { recursive: true, force: true })
    },
  }
}

/** The process of the server whose data are in a folder. */
export function readPostmaster(data: string): number {
  return Number(readFileSync(path.join(data, 'postmaster.pid'), 'utf8').split('\n')[0])
}

/** On every Linux that Node supports, /proc counts in hundredths of a second. */
const TICKS_PER_SECOND = 100

/** CPU time of the postmaster, its living children, and its ended children. */
export function cpuSecondsOfServer(postmaster: number): number {
  let ticks = 0
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue
    const stat = readStat(name)
    if (Number(name) === postmaster) ticks += sum(stat.slice(11, 15))
    else if (Number(stat[1]) === postmaster) ticks += sum(stat.slice(11, 13))
  }
  return ticks / TICKS_PER_SECOND
}

/** CPU time of one process and its threads. */
export function cpuSecondsOfProcess(pid: number): number {
  return sum(readStat(String(pid)).slice(11, 13)) / TICKS_PER_SECOND
}

/** The fields of /proc/PID/stat from the third on. Empty if the process has just ended. */
function readStat(pid: string): string[] {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8')
    return text.slice(text.lastIndexOf(')') + 2).split(' ')
  } catch {
    return []
  }
}

function sum(fields: readonly string[]): number {
  return fields.reduce((total, field) => total + Number(field), 0)
}

export interface AppArgs {
  readonly requestsPerSecond: number
  readonly redisUrl?: string | undefined
}

/** The whole application as the worker role uses it. */
export function openBenchApp(fixture: Fixture, { requestsPerSecond, redisUrl }: AppArgs): App {
  const config = loadConfig(
    {
      DATABASE_URL: fixture.databaseUrl,
      UPSTREAM_BASE_URL: fixture.upstreamUrl,
      MIN_INTERVAL_SECONDS: '1',
      ROUTE_SYNC_SCHEDULE: '0 0 1 1 *',
      AVAILABILITY_SYNC_SCHEDULE: '0 0 1 1 *',
      REDIS_URL: redisUrl,
    },
    os.tmpdir(),
  )
  return openApp({
    config: {
      ...config,
      DATABASE_URL: fixture.databaseUrl,
      UPSTREAM_BASE_URL: fixture.upstreamUrl,
      UPSTREAM_REQUESTS_PER_SECOND: requestsPerSecond,
    },
    log,
    clock: systemClock,
    role: 'bench',
  })
}

/** Runs the worker role while `during` does. */
export async function whileWorking<T>(app: App, during: () => Promise<T>): Promise<T> {
  const queue = openQueue(app)
  await queue.start()
  const work = await startWork(app, queue)
  try {
    return await during()
  } finally {
    await work.stop()
    // The workers must end too: they would take jobs of the next step, and fail on a closed database.
    await queue.close({ graceMs: 5_000 })
  }
}

/** Migrates, and adds watches of `count` fares for one reseller. */
export async function seedFares(app: App, count: number): Promise<void> {
  await migrateApp(app)
  const { db } = app.database
  const reseller = await createReseller(db, 'bench')
  const rows = Array.from({ length: count }, (_, i) => ({
    list: 'bench',
    reference: `w${i}`,
    flight_id: String(1_000_000 + i),
    residents_adults: '0',
    non_residents_adults: '1',
  }))
  await importWatchList(db, { resellerId: reseller.id, source: rowsOf('bench', rows) })
  await sql`analyze`.execute(db)
}

/** Releases all claims and makes all fares due, so that every step begins in the same state. */
export async function makeAllDue(db: Db): Promise<void> {
  await sql`
    update fare_schedule
       set claim_id = null, slot_at = null, lane = null, lane_due_at = null, leased_until = '-infinity',
           not_before = clock_timestamp()
  `.execute(db)
  await sql`update upstream_budget set next_slot_at = '-infinity', next_lane_at = '-infinity'`.execute(
    db,
  )
}

export async function countChecks(db: Db): Promise<number> {
  const { checks } = await selectOne(
    sql<{ checks: number }>`select coalesce(sum(checks), 0)::bigint as checks from fare_state`,
    db,
  )
  return checks
}

export interface Redis {
  readonly url: string
  readonly pid: number
  stop(): Promise<void>
}

/** Starts a redis-server for this run. Undefined if the machine has none. */
export async function startRedis(): Promise<Redis | undefined> {
  const probe = net.createServer().listen(0, '127.0.0.1')
  await once(probe, 'listening')
  const { port } = probe.address() as net.AddressInfo
  probe.close()
  const options = ['--bind', '127.0.0.1', '--save', '', '--maxmemory-policy', 'noeviction']
  const server = spawn('redis-server', ['--port', String(port), ...options], {
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  const absent = once(server, 'error').then(() => undefined)
  const url = `redis://127.0.0.1:${port}`
  const stop = async () => {
    server.kill()
    await once(server, 'exit')
  }
  const ready = (async () => {
    for await (const chunk of server.stdout) {
      if (String(chunk).includes('Ready to accept connections'))
        return { url, pid: server.pid ?? 0, stop }
    }
    return undefined
  })()
  return Promise.race([ready, absent])
}
