import type { IQueueBackend, PostgresPoolConfig, RedisOptions } from 'bullmq'
import { type BackendFactory, createPostgresBackend, createRedisBackend } from 'bullmq'

/** Where the queue lives. The URL may hold a password: show `describeStore` of it instead. */
export type QueueConnection =
  | { readonly kind: 'postgres'; readonly url: string }
  | { readonly kind: 'redis'; readonly url: string }

/** BullMQ's tables, apart from ours. */
export const QUEUE_SCHEMA = 'farewatch_queue'

/** Ours ignore the `connection` of the options: they hold it themselves. */
export type StoreFactory = BackendFactory<IQueueBackend, object>

const CONNECT_TIMEOUT_MS = 5_000
const KEEP_ALIVE_MS = 10_000

/** `postgres db.internal:5432/farewatch`: for messages, without user and password. */
export function describeStore({ kind, url }: QueueConnection): string {
  if (!URL.canParse(url)) return `${kind}, at an address that is no URL`
  const { hostname, port, pathname, searchParams } = new URL(url)
  const host = hostname || searchParams.get('host') || 'localhost'
  const defaultPort = kind === 'postgres' ? '5432' : '6379'
  return `${kind} ${host}:${port || defaultPort}${pathname === '/' ? '' : pathname}`
}

/** What an operator does about a store that is away. */
export function adviceFor({ kind }: QueueConnection): string {
  return kind === 'postgres'
    ? 'check that the database runs, that DATABASE_URL names it, and that "bin/farewatch migrate" has run'
    : 'check that Redis runs and that REDIS_URL names it'
}

/**
 * Makes BullMQ backends that own their connections.
 *
 * Each has a pool of its own: LISTEN connections pinned in a shared pool would starve the producers. On Postgres
 * a client takes up to 2 connections and a worker up to 2 and its LISTEN, so a process with W workers takes at
 * most 2 + 3·W; on Redis 1 + 2·W.
 * @param maxRetries Redis only: reconnects after which a waiting command fails; null is never, as workers need.
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

/** The timeouts are pg's: `query_timeout` is what ends a wait on a connection that went silent. */
function postgresConfig(url: string): PostgresPoolConfig {
  const { connectionString, options } = withoutOptions(url)
  return {
    connectionString,
    ...(options === undefined ? {} : { options }),
    schema: QUEUE_SCHEMA,
    max: 2,
    application_name: 'farewatch queue',
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    query_timeout: 15_000,
    statement_timeout: 15_000,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
  }
}

/**
 * BullMQ selects its schema through pg's `options`, and an `options` of the URL would replace it: such a one is
 * handed over beside the URL, where BullMQ appends to it.
 */
function withoutOptions(text: string): { connectionString: string; options?: string } {
  if (!URL.canParse(text)) return { connectionString: text }
  const url = new URL(text)
  const options = url.searchParams.get('options')
  if (options === null) return { connectionString: text }
  url.searchParams.delete('options')
  return { connectionString: url.href, options }
}

function redisConfig(url: string, maxRetries: number | null): RedisOptions {
  return {
    url,
    maxRetriesPerRequest: maxRetries,
    connectTimeout: CONNECT_TIMEOUT_MS,
    keepAlive: KEEP_ALIVE_MS,
    retryStrategy: (times) => Math.min(times * 100, 2_000),
    // A failover leaves us on a replica that refuses writes until we connect anew.
    reconnectOnError: (err: Error) => err.message.startsWith('READONLY'),
  }
}
