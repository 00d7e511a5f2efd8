import packageJson from '../../package.json' with { type: 'json' }
import type { Clock } from '../base/clock.ts'
import type { Logger } from '../base/logger.ts'
import { createScrub } from '../base/secrets.ts'
import { type Config, secretsOf } from '../config/config.ts'
import { type Database, type Db, openDatabase } from '../db/database.ts'
import { probeDatabase } from '../db/database-health.ts'
import { assertMigrated, migrate } from '../db/migrate.ts'
import { createMetrics, type Metrics } from '../metrics/metrics.ts'
import { migrateQueue } from '../queue/queue-connection.ts'
import { createQueueSystem, type QueueSystem } from '../queue/queue-system.ts'
import type { SyncDeps } from '../route-sync/plan/plan-snapshot.ts'
import { type CircuitBreaker, createCircuitBreaker } from '../upstream/breaker/circuit-breaker.ts'
import { takeSlot, tryTakeSlot } from '../upstream/budget/take-slot.ts'
import { createUpstreamClient, type UpstreamClient } from '../upstream/upstream-client.ts'
import { anomalyCounter, countCalls } from '../upstream/upstream-metrics.ts'
import { COUNT_GAP_MS } from '../verify/decide/leg-belief.ts'
import type { VerifyDeps } from '../verify/verify-fares-job.ts'
import { guardOf } from './guard-of.ts'

/** The configuration once every store has an address: given by the user, or embedded. */
export type ReadyConfig = Config & {
  readonly DATABASE_URL: string
  readonly UPSTREAM_BASE_URL: string
}

export interface AppOptions {
  readonly config: ReadyConfig
  readonly log: Logger
  readonly clock: Clock
  /** Shown in pg_stat_activity. */
  readonly role: string
}

/** What every command and every role of a process is built from. Nothing connects before it is used. */
export interface App extends AppOptions {
  readonly database: Database
  readonly upstream: UpstreamClient
  readonly breaker: CircuitBreaker
  readonly metrics: Metrics
  readonly syncDeps: SyncDeps
  readonly verifyDeps: VerifyDeps
  close(): Promise<void>
}

export function openApp(options: AppOptions): App {
  const { config, log, role } = options
  const database = openDatabase({
    url: config.DATABASE_URL,
    applicationName: `farewatch ${role}`,
    log,
  })
  const metrics = createMetrics()
  metrics.buildInfo.set({ version: packageJson.version, node: process.version, role }, 1)
  const breaker = createCircuitBreaker({
    db: database.db,
    clock: options.clock,
    log,
    accessToken: config.UPSTREAM_ACCESS_TOKEN,
  })
  const upstream = openUpstream(options, { db: database.db, breaker, metrics })
  return {
    ...options,
    database,
    upstream,
    breaker,
    metrics,
    syncDeps: {
      db: database.db,
      upstream,
      confirmations: config.ROUTE_ABSENCE_CONFIRMATIONS,
      guard: guardOf(config),
      scrub: createScrub(secretsOf(config)),
    },
    verifyDeps: {
      db: database.db,
      upstream,
      breaker,
      clock: options.clock,
      rules: rulesOf(config),
      metrics,
      log,
    },
    close: async () => {
      await upstream.close()
      await breaker.close()
      await database.close()
    },
  }
}

function rulesOf(config: ReadyConfig): VerifyDeps['rules'] {
  return {
    requestsPerSecond: config.UPSTREAM_REQUESTS_PER_SECOND,
    minRecheckSeconds: config.MIN_RECHECK_SECONDS,
    lossConfirmations: config.LOSS_CONFIRMATIONS,
    gainConfirmations: config.GAIN_CONFIRMATIONS,
    countGapMs: COUNT_GAP_MS,
  }
}

/** One question waits its latency on a connection of its own; ten seconds of the budget may be under way at once. */
const CONNECTIONS_PER_REQUEST_A_SECOND = 10
const SPARE_CONNECTIONS = 8
/** A quick retry that had to wait longer would be none. */
const RETRY_WITHIN_MS = 1_000

function openUpstream(
  { config, log, clock }: AppOptions,
  { db, breaker, metrics }: Pick<App, 'breaker' | 'metrics'> & Pick<Database, 'db'>,
): UpstreamClient {
  const requestsPerSecond = config.UPSTREAM_REQUESTS_PER_SECOND
  return createUpstreamClient({
    baseUrl: config.UPSTREAM_BASE_URL,
    ...(config.UPSTREAM_ACCESS_TOKEN === undefined
      ? {}
      : { accessToken: config.UPSTREAM_ACCESS_TOKEN }),
    scrub: createScrub(secretsOf(config)),
    log,
    limits: {
      maxConnections:
        Math.ceil(requestsPerSecond * CONNECTIONS_PER_REQUEST_A_SECOND) + SPARE_CONNECTIONS,
    },
    breaker,
    ...slotTakers({ db, metrics, clock, requestsPerSecond }),
    ...countCalls(metrics),
    observeAnomalies: anomalyCounter(metrics),
  })
}

interface SlotDeps {
  readonly db: Db
  readonly metrics: Metrics
  readonly clock: Clock
  readonly requestsPerSecond: number
}

/** How the client takes its slots of the budget: a list is one request like any other, and so is a quick retry. */
function slotTakers({ db, metrics, clock, requestsPerSecond }: SlotDeps) {
  const retry = { requestsPerSecond, lane: true, withinMs: RETRY_WITHIN_MS, clock }
  return {
    beforeList: async (signal: AbortSignal) => {
      const slot = await takeSlot(db, { requestsPerSecond, lane: false, clock, signal })
      metrics.budgetSlots.inc({ lane: 'list' })
      return slot
    },
    retrySlot: async (signal: AbortSignal) => {
      const slot = await tryTakeSlot(db, { ...retry, signal })
      if (slot !== undefined) metrics.budgetSlots.inc({ lane: 'quick_retry' })
      return slot
    },
  }
}

export function openQueue({ config, log }: App): QueueSystem {
  const connection =
    config.REDIS_URL === undefined
      ? ({ kind: 'postgres', url: config.DATABASE_URL } as const)
      : ({ kind: 'redis', url: config.REDIS_URL } as const)
  return createQueueSystem({ connection, log, scrub: createScrub(secretsOf(config)) })
}

/** Brings the database up to this code: our schema, then BullMQ's. Returns the names of what was applied. */
export async function migrateApp({ config, database }: App): Promise<string[]> {
  await probeDatabase(database.db, config.DATABASE_URL)
  const applied = await migrate(database.db)
  const client = await database.pool.connect()
  try {
    await migrateQueue(client)
  } finally {
    client.release()
  }
  return applied
}

/** Throws unless the database answers and this code can run on its schema. */
export async function assertReady({ config, database }: App): Promise<string> {
  const version = await probeDatabase(database.db, config.DATABASE_URL)
  await assertMigrated(database.db)
  return version
}
