import {
  type BackendFactory,
  createPostgresBackend,
  createRedisBackend,
  type IQueueBackend,
  type PostgresPoolConfig,
  type RedisOptions,
  runMigrations,
} from 'bullmq'
import type { Clock } from '../base/clock.ts'
import { nextDueAt } from '../base/cron.ts'
import type { Logger } from '../base/logger.ts'
import type { Scrub } from '../base/secrets.ts'
import { takeServerOptions } from '../base/server-options.ts'

/** The store of the queue. The URL may contain a password: print `describeStore` instead. */
export interface QueueConnection {
  readonly kind: 'postgres' | 'redis'
  readonly url: string
}

type JsonValue = string | number | boolean | null | readonly JsonValue[] | JsonObject
/** The payload of a job: ids only. Our tables hold the data. */
export type JsonObject = { readonly [key: string]: JsonValue }

/** The parts that all components of one queue system share. */
export interface QueueContext {
  readonly connection: QueueConnection
  readonly log: Logger
  readonly scrub: Scrub
  readonly clock: Clock
  readonly random: () => number
  readonly timings: QueueTimings
}

export interface QueueTimings {
  /** The timeout of a call, and of the first connect of a worker. */
  readonly deadlineMs: number
  /** An idle worker polls its store at least this often. */
  readonly pollMs: number
}

export const DEFAULT_TIMINGS: QueueTimings = { deadlineMs: 5_000, pollMs: 5_000 }

/** Redis only: the prefix of all keys, with a hash tag that keeps them on one node of a cluster. */
export const KEY_PREFIX = '{farewatch}'

/** The schema of BullMQ's tables. */
export const QUEUE_SCHEMA = 'farewatch_queue'

/**
 * Migrates BullMQ's schema to the version of its package, in one transaction under an advisory lock.
 *
 * Only the Postgres backend needs it. It never runs on connect: "bin/farewatch migrate" decides when a schema changes.
 * @param client a session, not a pool: the lock and the transaction belong to it. A checked-out pg client fits.
 */
export async function migrateQueue(client: Parameters<typeof runMigrations>[0]): Promise<void> {
  await runMigrations(client, QUEUE_SCHEMA)
}

/** Our factories ignore the `connection` of the options and use their own. */
type StoreFactory = BackendFactory<IQueueBackend, object>

const CONNECT_TIMEOUT_MS = 5_000
const KEEP_ALIVE_MS = 10_000
/** A connection whose peer does not answer for so long is replaced: longer than any poll. */
const ANSWER_TIMEOUT_MS = 15_000

/** Describes the store in a message, without user and password: `postgres db.internal:5432/farewatch`. */
export function describeStore({ kind, url }: QueueConnection): string {
  if (!URL.canParse(url)) return `${kind} at an invalid URL`
  const { hostname, port, pathname, searchParams } = new URL(url)
  const host = hostname || searchParams.get('host') || 'localhost'
  const defaultPort = kind === 'postgres' ? '5432' : '6379'
  return `${kind} ${host}:${port || defaultPort}${pathname === '/' ? '' : pathname}`
}

/** What an operator should check when the store is down. */
export function adviceFor({ kind }: QueueConnection): string {
  return kind === 'postgres'
    ? 'check that the database runs, that DATABASE_URL names it, and that "bin/farewatch migrate" has run'
    : 'check that Redis runs and that REDIS_URL names it'
}

/**
 * Creates BullMQ backends that own their connections.
 *
 * Each backend has its own pool: LISTEN connections pinned in a shared pool would starve the producers. On Postgres a
 * client uses at most 2 connections and a worker 2 plus its LISTEN, so a process with W workers uses at most 2 +
 * 3·W; on Redis 1 + 2·W.
 * @param maxRetries Redis only: the number of reconnects after which a waiting command fails. Workers need null: never.
 */
export function storeFactory(connection: QueueConnection, maxRetries: number | null): StoreFactory {
  if (connection.kind === 'postgres') {
    const config = postgresConfig(connection.url)
    return (name, opts, roles) =>
      createPostgresBackend(name, { ...opts, connection: config }, roles)
  }
  const config = redisConfig(connection.url, maxRetries)
  return (name, opts, roles) => createRedisBackend(name, { ...opts, connection: config }, roles)
}

/** BullMQ selects its schema by what it appends to `options`. */
function postgresConfig(url: string): PostgresPoolConfig {
  const { connectionString, serverOptions } = takeServerOptions(url)
  return {
    connectionString,
    options: serverOptions,
    schema: QUEUE_SCHEMA,
    max: 2,
    application_name: 'farewatch queue',
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    query_timeout: ANSWER_TIMEOUT_MS,
    statement_timeout: ANSWER_TIMEOUT_MS,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
  }
}

function redisConfig(url: string, maxRetries: number | null): RedisOptions {
  return {
    url,
    maxRetriesPerRequest: maxRetries,
    connectTimeout: CONNECT_TIMEOUT_MS,
    keepAlive: KEEP_ALIVE_MS,
    socketTimeout: ANSWER_TIMEOUT_MS,
    retryStrategy: (times) => Math.min(times * 100, 2_000),
    // After a failover the old connection leads to a replica, which refuses writes.
    reconnectOnError: (err: Error) => err.message.startsWith('READONLY'),
  }
}

/** BullMQ's own strategy would match an hour twice that a change of summer time repeats. */
export function repeatStrategy(
  afterMs: number,
  { pattern, tz }: { readonly pattern?: string; readonly tz?: string },
): number | undefined {
  if (pattern === undefined) return undefined
  return nextDueAt({ pattern, zone: tz ?? 'UTC' }, new Date(afterMs)).getTime()
}
