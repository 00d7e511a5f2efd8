import type { ChildProcess } from 'node:child_process'
import { type Db, openDatabase } from '../../src/platform/db/database.ts'
import { createQueueSystem, type QueueSystem } from '../../src/platform/queue/queue-system.ts'
import { SYNC_QUEUE } from '../../src/routes/sync.ts'
import { VERIFY_QUEUE } from '../../src/schedule/claim.ts'
import type { Route } from '../../src/upstream/route-list.ts'
import { manyRoutes } from '../routes/sync-fixtures.ts'
import { type RunningCommand, startFarewatch } from '../support/child-process.ts'
import { hasRedisServer } from '../support/redis-tier.ts'
import { silentLog } from '../support/silent-log.ts'
import { createTcpProxy, type TcpProxy } from '../support/tcp-proxy.ts'
import { cloneDatabase } from '../support/test-database.ts'
import { type ChaosUpstream, startChaosUpstream } from './chaos-upstream.ts'
import { type OwnRedis, startOwnRedis } from './own-redis.ts'

export type Backend = 'postgres' | 'redis'

/** The backends of the queue that this machine has. */
export const BACKENDS: readonly Backend[] = hasRedisServer() ? ['postgres', 'redis'] : ['postgres']

/** All queues of farewatch. */
export const QUEUES = [SYNC_QUEUE, VERIFY_QUEUE]

/** A complete farewatch: its stores, each behind a TCP proxy, its upstream and its processes. */
export interface World extends Processes {
  readonly backend: Backend
  /** The connection of the test, not through the proxy. */
  readonly db: Db
  readonly queue: QueueSystem
  readonly databaseUrl: string
  readonly postgresProxy: TcpProxy
  readonly redis: OwnRedis | undefined
  readonly upstream: ChaosUpstream
  close(): Promise<void>
}

interface Processes {
  /** The environment of a process, whose store URLs lead through the proxies. */
  env(settings?: Settings): Record<string, string>
  /** Starts a process. `close` kills it if it still runs. */
  start(role: 'worker' | 'api' | 'up', settings?: Settings): RunningCommand
  /** The processes that have not ended. */
  running(): RunningCommand[]
  /** All output of the processes so far. */
  output(): string
}

export type Settings = Readonly<Record<string, string>>

export interface WorldArgs {
  /** Default: a fresh clone of the migrated template. */
  readonly databaseUrl?: string
  /** The routes of both lists at the start. */
  readonly routes?: readonly Route[]
}

/** Each fare is checked once an hour and each list fetched once a year, unless a test makes it due. */
const SETTINGS: Settings = {
  UPSTREAM_REQUESTS_PER_SECOND: '50',
  MIN_INTERVAL_SECONDS: '3600',
  ROUTE_SYNC_SCHEDULE: '0 0 1 1 *',
  AVAILABILITY_SYNC_SCHEDULE: '0 0 1 1 *',
  ADMIN_PORT: '0',
  API_PORT: '0',
}

/** What `close` runs, in reverse order. */
type Cleanups = (() => Promise<unknown>)[]

export async function openWorld(backend: Backend, args: WorldArgs = {}): Promise<World> {
  const cleanups: Cleanups = []
  const databaseUrl = args.databaseUrl ?? (await ownClone(cleanups))
  const database = openDatabase({ url: databaseUrl, applicationName: 'test', log: silentLog })
  cleanups.push(() => database.close())
  const postgresProxy = await startProxy(databaseUrl)
  cleanups.push(() => postgresProxy.close())
  const redis = backend === 'redis' ? await startOwnRedis() : undefined
  cleanups.push(async () => redis?.close())
  const upstream = await startChaosUpstream(args.routes ?? manyRoutes(40))
  cleanups.push(() => upstream.close())
  const queue = openQueue(databaseUrl, redis?.url)
  cleanups.push(() => queue.close({ graceMs: 2_000 }))

  const processes = createProcesses({
    ...SETTINGS,
    DATABASE_URL: throughProxy(databaseUrl, postgresProxy),
    ...(redis === undefined ? {} : { REDIS_URL: throughProxy(redis.url, redis.proxy) }),
    UPSTREAM_BASE_URL: upstream.url,
  })
  cleanups.push(() => processes.killAll())
  const close = async () => {
    for (const release of cleanups.toReversed()) await release()
  }
  const stores = { db: database.db, databaseUrl, queue, postgresProxy, redis }
  return { backend, ...stores, upstream, ...processes, close }
}

async function ownClone(cleanups: Cleanups): Promise<string> {
  const clone = await cloneDatabase()
  cleanups.push(() => clone.drop())
  return clone.url
}

function startProxy(url: string): Promise<TcpProxy> {
  const { hostname, port } = new URL(url)
  return createTcpProxy({ host: hostname, port: Number(port || 5432) })
}

function throughProxy(url: string, proxy: TcpProxy): string {
  const through = new URL(url)
  through.host = `127.0.0.1:${proxy.port}`
  return through.href
}

function openQueue(databaseUrl: string, redisUrl: string | undefined): QueueSystem {
  return createQueueSystem({
    connection:
      redisUrl === undefined
        ? { kind: 'postgres', url: databaseUrl }
        : { kind: 'redis', url: redisUrl },
    log: silentLog,
    scrub: (text) => text,
  })
}

function createProcesses(base: Settings): Processes & { killAll(): Promise<void> } {
  const started: RunningCommand[] = []
  const env = (settings: Settings = {}) => ({ ...base, ...settings })
  const running = () => started.filter(({ child }) => isLiving(child))
  return {
    env,
    running,
    output: () =>
      started.map((one) => `--- ${one.child.pid}\n${one.stdout()}${one.stderr()}`).join(''),
    start: (role, settings) => {
      const command = startFarewatch([role], env(settings))
      started.push(command)
      return command
    },
    killAll: async () => {
      for (const { child } of running()) child.kill('SIGKILL')
      await Promise.all(started.map(({ ended }) => ended))
    },
  }
}

function isLiving({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode === null && signalCode === null
}
