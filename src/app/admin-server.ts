import { readStatus } from '../health/status-operations.ts'
import type { StatusWarning } from '../health/status-shapes.ts'
import { endsWithin, withTimeout } from '../platform/base/clock.ts'
import { messageOf } from '../platform/base/errors.ts'
import { isLoopback } from '../platform/base/loopback.ts'
import { type Db, openDatabase } from '../platform/db/database.ts'
import { assertWritable } from '../platform/db/database-health.ts'
import { assertMigrated } from '../platform/db/schema-version.ts'
import { databaseSkewMs } from '../platform/db/transaction.ts'
import { assertLocalCaller } from '../platform/http/local-only.ts'
import { createHttpServer, type HttpServer } from '../platform/http/server.ts'
import { renderMetrics } from '../platform/metrics/metrics.ts'
import type { QueueSystem } from '../platform/queue/queue-system.ts'
import { type App, STORE_TIMEOUT_MS } from './app.ts'
import { statusDeps } from './health-deps.ts'
import type { SystemGauges } from './system-gauges.ts'
import type { Work } from './work.ts'

const CLOSE_TIMEOUT_MS = 400

export interface AdminDeps {
  readonly app: App
  /** Whether this process does work; and its work, once that has started. */
  readonly works: boolean
  readonly work: () => Work | undefined
  /** Whether the API accepts requests, or this process does not have the api role. */
  readonly serving: () => boolean
  /** Why the process must restart; null while it makes progress. */
  readonly fault: () => string | null
  readonly queue: QueueSystem
  readonly systemGauges: SystemGauges
  /** Whether the process is shutting down. */
  readonly draining: () => boolean
}

interface Check {
  readonly name: string
  /** Null if the check passes. */
  readonly fault: string | null
  /** How long the store took to answer. */
  readonly tookMs?: number
  /** When a worker last polled or ended a job. */
  readonly lastActivityAt?: Date
}

/**
 * Serves health and metrics to operators, on a port of its own.
 *
 * /livez checks the event loop and the progress of the work. After a 503 the process ends itself; a restart helps.
 * /readyz fails only for what another process could do better: while this one starts, stops, or makes no progress
 * although the stores answer. It asks no store, because a slow one would take every process out of service at once:
 * requests answer 503 by themselves, and alerts report it. It lists the failed checks; `?verbose` lists all, the answers
 * of the stores, and the warnings of the status.
 */
export function createAdminServer(deps: AdminDeps): HttpServer {
  const { app } = deps
  const server = createHttpServer({ log: app.log })
  // A connection of its own, so that health answers while all connections of the pools are in use.
  const database = openDatabase({
    url: app.config.DATABASE_URL,
    applicationName: 'farewatch health',
    log: app.log,
    maxConnections: 1,
    statementTimeoutMs: STORE_TIMEOUT_MS,
  })
  server.addHook('onClose', async () => void (await endsWithin(database.close(), CLOSE_TIMEOUT_MS)))
  if (isLoopback(app.config.ADMIN_HOST)) server.addHook('onRequest', assertLocalCaller)
  server.get('/livez', async (_request, reply) => {
    const reason = deps.fault()
    if (reason === null) return { status: 'live' }
    return reply.code(503).send({ status: 'no progress', reason })
  })
  server.get('/readyz', async (request, reply) => {
    const checks = checkReadiness(deps)
    const failing = checks.filter(({ fault }) => fault !== null)
    const ready = failing.length === 0
    const verbose = Object.hasOwn(request.query as object, 'verbose')
    const status = ready ? 'ready' : 'not ready'
    reply.code(ready ? 200 : 503)
    if (!verbose) return { status, checks: failing }
    const [stores, warnings] = await Promise.all([
      checkStores(deps, database.db),
      readWarnings(deps, database.db),
    ])
    return { status, checks: [...checks, ...stores], warnings }
  })
  server.get('/metrics', async (_request, reply) => {
    await setProcessGauges(app, deps.work(), deps.queue)
    const withSystem = await deps.systemGauges.refresh()
    reply.type(app.metrics.registry.contentType)
    return renderMetrics(app.metrics, { withSystem })
  })
  return server
}

function checkReadiness(deps: AdminDeps): Check[] {
  return [
    { name: 'not draining', fault: deps.draining() ? 'shutting down' : null },
    { name: 'started', fault: startingFault(deps) },
    { name: 'progress', fault: deps.fault() },
  ]
}

/** What all processes share, and when each worker was last active: for people, who cannot see it otherwise. */
async function checkStores(deps: AdminDeps, db: Db): Promise<Check[]> {
  const stores = await Promise.all([
    checkStore('database', assertWritable(db), deps),
    checkStore('schema', assertMigrated(db), deps),
  ])
  const workers = (deps.work()?.workers ?? []).map(({ queue, handle }) => {
    const { lastActivityAt } = handle.progress()
    return { name: `worker ${queue}`, fault: null, lastActivityAt }
  })
  return [...stores, ...workers]
}

/** Null while the database does not answer in time. */
async function readWarnings({ app, queue }: AdminDeps, db: Db): Promise<StatusWarning[] | null> {
  const status = readStatus({ ...statusDeps(app, queue, db), readDelays: async () => [] })
  return withTimeout(status, STORE_TIMEOUT_MS).then(
    ({ warnings }) => warnings,
    () => null,
  )
}

function startingFault({ works, work, serving }: AdminDeps): string | null {
  if (works && work() === undefined) return 'the workers are starting'
  return serving() ? null : 'the API is starting'
}

async function checkStore(
  name: string,
  answer: Promise<unknown>,
  { app }: AdminDeps,
): Promise<Check> {
  const fromMs = performance.now()
  const fault = await withTimeout(answer, STORE_TIMEOUT_MS).then(
    () => null,
    (err: unknown) => app.syncDeps.scrub(messageOf(err)),
  )
  return { name, fault, tookMs: Math.round(performance.now() - fromMs) }
}

/** Sets the gauges of this process for a scrape. Never rejects: an unavailable store is a value of the gauges. */
async function setProcessGauges(
  app: App,
  work: Work | undefined,
  queue: AdminDeps['queue'],
): Promise<void> {
  const { database, requestDatabase, metrics } = app
  for (const { queue: name, handle } of work?.workers ?? []) {
    const at = handle.progress().lastActivityAt.getTime() / 1000
    metrics.queueLastActivity.set({ queue: name }, at)
  }
  setPoolGauges([database.pool, requestDatabase.pool], metrics)
  // A process without workers, such as one that only delivers, needs no connection to the store of the queue.
  const usesQueue = work !== undefined && work.workers.length > 0
  // A gauge begins at 0, which would say that Redis is down.
  if (!usesQueue || queue.kind !== 'redis') metrics.redisUp.remove()
  await Promise.all([
    setDatabaseGauges(app),
    usesQueue ? setQueueStoreGauges(queue, metrics) : undefined,
  ])
}

/** Sums the pools: the one of the work and the one of the API. */
function setPoolGauges(pools: readonly App['database']['pool'][], metrics: App['metrics']): void {
  const sum = (count: (pool: App['database']['pool']) => number) =>
    pools.reduce((total, pool) => total + count(pool), 0)
  metrics.databaseConnections.set(
    { state: 'idle' },
    sum(({ idleCount }) => idleCount),
  )
  metrics.databaseConnections.set(
    { state: 'busy' },
    sum((pool) => pool.totalCount - pool.idleCount),
  )
  metrics.databaseConnectionsMax.set(sum(({ options }) => options.max))
  metrics.databaseWaiting.set(sum(({ waitingCount }) => waitingCount))
}

/**
 * Queries through the pool, as all work does: for the process an exhausted pool is as bad as a database that is
 * down.
 */
async function setDatabaseGauges({ database, metrics, clock }: App): Promise<void> {
  const startedMs = performance.now()
  try {
    const skewMs = await withTimeout(databaseSkewMs(database.db, clock), STORE_TIMEOUT_MS)
    metrics.clockSkew.set({ store: 'database' }, skewMs / 1000)
    metrics.databaseUp.set(1)
  } catch {
    metrics.clockSkew.remove({ store: 'database' })
    metrics.databaseUp.set(0)
  }
  metrics.databasePing.set((performance.now() - startedMs) / 1000)
}

async function setQueueStoreGauges(
  { kind, facts }: AdminDeps['queue'],
  metrics: App['metrics'],
): Promise<void> {
  const found = await withTimeout(facts(), STORE_TIMEOUT_MS).catch(() => null)
  if (found === null) metrics.clockSkew.remove({ store: 'queue' })
  else metrics.clockSkew.set({ store: 'queue' }, found.clockSkewMs / 1000)
  if (kind === 'redis') metrics.redisUp.set(found === null ? 0 : 1)
}
