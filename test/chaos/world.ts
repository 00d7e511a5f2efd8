import type { ChildProcess } from 'node:child_process'
import type { Db } from '../../src/db/database.ts'
import { openDatabase } from '../../src/db/database.ts'
import { createQueueSystem, type QueueSystem } from '../../src/queue/queue-system.ts'
import { VERIFY_QUEUE } from '../../src/recheck/dispatch-checks-job.ts'
import { SYNC_QUEUE } from '../../src/route-sync/sync-list-job.ts'
import { TICK_QUEUE } from '../../src/schedules/reconciler.ts'
import type { Route } from '../../src/upstream/route-list.ts'
import { manyRoutes } from '../route-sync/sync-fixtures.ts'
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
export const QUEUES = [TICK_QUEUE, SYNC_QUEUE, VERIFY_QUEUE]

/** A whole farewatch: its stores, each behind a door of ours, its upstream, and its processes. */
export interface World extends Processes {
  readonly backend: Backend
  /** Past the doors: what the test itself asks. */
  readonly db: Db
  readonly queue: QueueSystem
  readonly databaseUrl: string
  readonly postgresDoor: TcpProxy
  readonly redis: OwnRedis | undefined
  readonly upstream: ChaosUpstream
  close(): Promise<void>
}

interface Processes {
  /** Of its processes, which go through the doors. */
  env(settings?: Settings): Record<string, string>
  /** A process, killed at the latest when the world closes. */
  start(role: 'worker' | 'api' | 'up', settings?: Settings): RunningCommand
  /** Those that have not ended. */
  living(): RunningCommand[]
  /** All that they have said so far, for a test that fails. */
  said(): string
}

export type Settings = Readonly<Record<string, string>>

export interface WorldArgs {
  /** A database of the test's own; a fresh clone of the migrated one unless given. */
  readonly databaseUrl?: string
  /** What both lists hold at first. */
  readonly routes?: readonly Route[]
}

/** Each fare is asked once within the hour, and each list once a year, unless a test makes it due. */
const SETTINGS: Settings = {
  UPSTREAM_REQUESTS_PER_SECOND: '50',
  MIN_RECHECK_SECONDS: '3600',
  ROUTE_SYNC_SCHEDULE: '0 0 1 1 *',
  AVAILABILITY_SYNC_SCHEDULE: '0 0 1 1 *',
  ADMIN_PORT: '0',
  API_PORT: '0',
}

/** What is held, to be let go in the opposite order. */
type Held = (() => Promise<unknown>)[]

export async function openWorld(backend: Backend, args: WorldArgs = {}): Promise<World> {
  const held: Held = []
  const databaseUrl = args.databaseUrl ?? (await ownClone(held))
  const database = openDatabase({ url: databaseUrl, applicationName: 'test', log: silentLog })
  held.push(() => database.close())
  const postgresDoor = await doorBefore(databaseUrl)
  held.push(() => postgresDoor.close())
  const redis = backend === 'redis' ? await startOwnRedis() : undefined
  held.push(async () => redis?.close())
  const upstream = await startChaosUpstream(args.routes ?? manyRoutes(40))
  held.push(() => upstream.close())
  const queue = openQueue(databaseUrl, redis?.url)
  held.push(() => queue.close({ graceMs: 2_000 }))

  const processes = createProcesses({
    ...SETTINGS,
    DATABASE_URL: throughDoor(databaseUrl, postgresDoor),
    ...(redis === undefined ? {} : { REDIS_URL: throughDoor(redis.url, redis.door) }),
    UPSTREAM_BASE_URL: upstream.url,
  })
  held.push(() => processes.killAll())
  const close = async () => {
    for (const letGo of held.toReversed()) await letGo()
  }
  const stores = { db: database.db, databaseUrl, queue, postgresDoor, redis }
  return { backend, ...stores, upstream, ...processes, close }
}

async function ownClone(held: Held): Promise<string> {
  const clone = await cloneDatabase()
  held.push(() => clone.drop())
  return clone.url
}

function doorBefore(url: string): Promise<TcpProxy> {
  const { hostname, port } = new URL(url)
  return createTcpProxy({ host: hostname, port: Number(port || 5432) })
}

function throughDoor(url: string, door: TcpProxy): string {
  const through = new URL(url)
  through.host = `127.0.0.1:${door.port}`
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
  const living = () => started.filter(({ child }) => isLiving(child))
  return {
    env,
    living,
    said: () =>
      started.map((one) => `--- ${one.child.pid}\n${one.stdout()}${one.stderr()}`).join(''),
    start: (role, settings) => {
      const command = startFarewatch([role], env(settings))
      started.push(command)
      return command
    },
    killAll: async () => {
      for (const { child } of living()) child.kill('SIGKILL')
      await Promise.all(started.map(({ ended }) => ended))
    },
  }
}

function isLiving({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode === null && signalCode === null
}
