import packageJson from '../../package.json' with { type: 'json' }
import { createSealer, type Sealer } from '../delivery/endpoints/sealer.ts'
import type { VerifyDeps } from '../fares/check.ts'
import { type Clock, endsWithin } from '../platform/base/clock.ts'
import type { Logger } from '../platform/base/logger.ts'
import { createScrub } from '../platform/base/secrets.ts'
import { secretsOf } from '../platform/config/config.ts'
import type { Config } from '../platform/config/settings.ts'
import { type Database, type Db, openDatabase } from '../platform/db/database.ts'
import { probeDatabase } from '../platform/db/database-health.ts'
import { beginIfRestored } from '../platform/db/generations.ts'
import { createListener, type Listener } from '../platform/db/listener.ts'
import { type MigrateOptions, migrate } from '../platform/db/migrate.ts'
import { assertMigrated } from '../platform/db/schema-version.ts'
import { createMetrics, type Metrics } from '../platform/metrics/metrics.ts'
import { migrateQueue } from '../platform/queue/queue-connection.ts'
import { createQueueSystem, type QueueSystem } from '../platform/queue/queue-system.ts'
import type { SyncDeps } from '../routes/diff.ts'
import { type BudgetLane, type CallLedger, createCallLedger } from '../schedule/budget.ts'
import { CircuitBreaker } from '../upstream/breaker/circuit-breaker.ts'
import { takeSlot, tryTakeSlot } from '../upstream/budget/take-slot.ts'
import { FARES_PROVIDER } from '../upstream/fares/fares-provider.ts'
import { anomalyCounter, countCalls } from '../upstream/telemetry.ts'
import { createUpstreamClient, type UpstreamClient } from '../upstream/upstream-client.ts'
import { fillAirports } from './fill-airports.ts'
import { guardLimitsOf, verifyRulesOf } from './settings-for.ts'

/** The configuration with the addresses of all stores: configured or embedded. */
export type ReadyConfig = Config & {
  readonly DATABASE_URL: string
  readonly UPSTREAM_BASE_URL: string
}

/** How long health checks and gauges wait for a store. */
export const STORE_TIMEOUT_MS = 2_000

interface AppOptions {
  readonly config: ReadyConfig
  readonly log: Logger
  readonly clock: Clock
  /** Shown in pg_stat_activity. */
  readonly role: string
}

/** The dependencies of every command and every role. Nothing connects before its first use. */
export interface App extends AppOptions {
  readonly database: Database
  /** The connections of API requests. They are apart, so that no caller can take those of the workers. */
  readonly requestDatabase: Database
  /** Receives the notifications of all processes. It connects at the first subscription. */
  readonly listener: Listener
  readonly upstream: UpstreamClient
  readonly breaker: CircuitBreaker
  readonly metrics: Metrics
  /** What this process takes from the budget. */
  readonly calls: CallLedger
  readonly syncDeps: SyncDeps
  readonly verifyDeps: VerifyDeps
  /** Encrypts the URLs and secrets of endpoints. */
  readonly sealer: Sealer
  close(): Promise<void>
}

export function openApp(options: AppOptions): App {
  const { config, clock, log, role } = options
  const { DATABASE_URL: url } = config
  const database = openDatabase({ url, applicationName: `farewatch ${role}`, log })
  const { db } = database
  const requestDatabase = openDatabase({ url, applicationName: 'farewatch requests', log })
  const listener = createListener({ url, log })
  const metrics = createMetrics()
  metrics.buildInfo.set({ version: packageJson.version, node: process.version, role }, 1)
  const breaker = new CircuitBreaker({ db, clock, log })
  const calls = openLedger(clock, metrics)
  const rules = verifyRulesOf(config)
  const upstream = openUpstream(options, { db, breaker, metrics, calls })
  return {
    ...options,
    database,
    requestDatabase,
    listener,
    upstream,
    breaker,
    metrics,
    calls,
    sealer: createSealer(config.ENCRYPTION_KEY, config.ENCRYPTION_KEY_PREVIOUS),
    syncDeps: {
      db,
      upstream,
      confirmations: config.ROUTE_ABSENCE_CONFIRMATIONS,
      guard: guardLimitsOf(config),
      scrub: createScrub(secretsOf(config)),
    },
    verifyDeps: { db, upstream, breaker, clock, rules, metrics, countCall: calls.count, log },
    close: async () => {
      await endsWithin(calls.flush(db), FLUSH_MS)
      await upstream.close()
      await breaker.close()
      await Promise.all([listener, database, requestDatabase].map((one) => one.close()))
    },
  }
}

function openLedger(clock: Clock, { prioritySlots }: Metrics): CallLedger {
  return createCallLedger(clock, ({ priority, calls }) =>
    prioritySlots.inc({ priority: priority || 'none' }, calls),
  )
}

/** A database that is down must not delay the end of a process. */
const FLUSH_MS = 500

/** Every request needs a connection of its own while it waits. Requests of ten seconds may be in progress at once. */
const CONNECTIONS_PER_REQUEST_A_SECOND = 10
const SPARE_CONNECTIONS = 8
/** A quick retry gives up if it would wait longer for a slot. */
const RETRY_WITHIN_MS = 1_000

function openUpstream(
  { config, log, clock }: AppOptions,
  {
    db,
    breaker,
    metrics,
    calls,
  }: Pick<App, 'breaker' | 'metrics' | 'calls'> & Pick<Database, 'db'>,
): UpstreamClient {
  const requestsPerSecond = config.UPSTREAM_REQUESTS_PER_SECOND
  return createUpstreamClient({
    provider: FARES_PROVIDER,
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
    ...slotTakers({ db, metrics, calls, clock, requestsPerSecond }),
    ...countCalls(metrics),
    observeAnomalies: anomalyCounter(metrics),
  })
}

interface SlotDeps {
  readonly db: Db
  readonly metrics: Metrics
  readonly calls: CallLedger
  readonly clock: Clock
  readonly requestsPerSecond: number
}

/** The functions by which the client takes slots of the budget. A list and a quick retry cost one slot each. */
function slotTakers({ db, metrics, calls, clock, requestsPerSecond }: SlotDeps) {
  const count = (lane: BudgetLane) => {
    metrics.budgetSlots.inc({ lane })
    calls.count(lane)
  }
  const retry = { requestsPerSecond, lane: true, withinMs: RETRY_WITHIN_MS, clock }
  return {
    beforeList: async (signal: AbortSignal) => {
      const slot = await takeSlot(db, { requestsPerSecond, lane: false, clock, signal })
      count('list')
      return slot
    },
    retrySlot: async (signal: AbortSignal) => {
      const slot = await tryTakeSlot(db, { ...retry, signal })
      if (slot !== undefined) count('quick_retry')
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

/**
 * Migrates our schema and fills the airports, then migrates BullMQ's schema. Returns the names of the applied
 * migrations.
 */
export async function migrateApp(app: App, options?: MigrateOptions): Promise<string[]> {
  const { config, database } = app
  await probeDatabase(database, config.DATABASE_URL)
  const applied = await migrate(database.db, options)
  await beginIfRestored(database.db, app.log)
  await fillAirports(database.db)
  const client = await database.pool.connect()
  try {
    await migrateQueue(client)
  } finally {
    client.release()
  }
  return applied
}

/** Throws unless the database answers and this code can run on its schema. Returns the version of the server. */
export async function assertReady(app: App): Promise<string> {
  const { config, database } = app
  const version = await probeDatabase(database, config.DATABASE_URL)
  await assertMigrated(database.db)
  await beginIfRestored(database.db, app.log)
  return version
}
