import { readDeliveryGauges } from '../delivery/dispatch/delivery-gauges.ts'
import { readFeedGauges } from '../feeds/feed-bounds.ts'
import { readStatus } from '../health/status-operations.ts'
import { daysUntilFull, readGrowth, readPartSizes } from '../history/roll-up-days.ts'
import { endsWithin } from '../platform/base/clock.ts'
import { messageOf } from '../platform/base/errors.ts'
import { PAUSED_WORK } from '../platform/base/kinds.ts'
import { type Db, openDatabase } from '../platform/db/database.ts'
import { isStatementTimeout, readStorage } from '../platform/db/database-health.ts'
import { listPauses } from '../platform/db/pauses.ts'
import type { QueueSystem } from '../platform/queue/queue-system.ts'
import { readSyncGauges } from '../routes/read/sync-state.ts'
import { setHealthGauges } from '../upstream/telemetry.ts'
import { readCheckGauges, readFareGauges } from '../views/fare-gauges.ts'
import { type App, STORE_TIMEOUT_MS } from './app.ts'
import { statusDeps } from './health-deps.ts'
import { readProcessGauges } from './processes.ts'
import { setQueueGauges } from './queue-state.ts'
import { setIntervalGauges } from './settings-for.ts'

/** The gauges of the whole system. Every process reads them from the shared stores and exports them. */
export interface SystemGauges {
  /** Updates the gauges if they are due. Returns false if there are no values to export. Never rejects. */
  refresh(): Promise<boolean>
  close(): Promise<void>
}

/**
 * Reading takes about a second for a million fares. A process spends at most a twentieth of its time on it, unless the
 * gauges would be too old for the alerts: one slow read must not stop them for minutes.
 */
const PAUSE = { factor: 20, maxMs: 30_000 }

export function pauseMsAfter(readMs: number): number {
  return Math.min(PAUSE.maxMs, PAUSE.factor * readMs)
}

const STATEMENT_TIMEOUT_MS = 10_000
const CLOSE_TIMEOUT_MS = 1_000
const DAY_SECONDS = 86_400

/** Opens one connection outside the pool, so that the gauges can be read while the pool is exhausted. */
export function createSystemGauges(app: App, queue: QueueSystem): SystemGauges {
  const { config, log, clock, metrics } = app
  const database = openDatabase({
    url: config.DATABASE_URL,
    applicationName: 'farewatch gauges',
    log,
    maxConnections: 1,
    statementTimeoutMs: STATEMENT_TIMEOUT_MS,
  })
  setIntervalGauges(config, metrics, clock.now())
  let reading: Promise<void> | undefined
  let nextReadMs = 0
  let hasValues = false

  async function read(): Promise<void> {
    const startedMs = performance.now()
    try {
      await setGauges(app, database.db, queue)
      metrics.gaugesRead.set(clock.now().getTime() / 1_000)
      hasValues = true
    } catch (err) {
      // While a lock delays the reading, the last values stay, and NoSystemGauges reports their age. While the database is
      // down, there are none.
      hasValues &&= isStatementTimeout(err)
      log.warn({ reason: messageOf(err) }, 'cannot read the gauges of the whole system')
    } finally {
      const endedMs = performance.now()
      nextReadMs = endedMs + (hasValues ? pauseMsAfter(endedMs - startedMs) : 0)
      reading = undefined
    }
  }

  return {
    async refresh() {
      if (reading === undefined && performance.now() < nextReadMs) return hasValues
      reading ??= read()
      // A slow reading continues. Until it ends, the gauges keep their previous values.
      await endsWithin(reading, STORE_TIMEOUT_MS)
      return hasValues
    },
    close: async () => void (await endsWithin(database.close(), CLOSE_TIMEOUT_MS)),
  }
}

async function setGauges(app: App, db: Db, queue: QueueSystem): Promise<void> {
  const { config, metrics } = app
  await readSyncGauges(db, metrics)
  await setHealthGauges(db, metrics)
  await readCheckGauges(db, metrics, config.UPSTREAM_REQUESTS_PER_SECOND)
  await readFareGauges(db, metrics)
  await readFeedGauges(db, metrics)
  await readDeliveryGauges(db, metrics)
  await setQueueGauges(queue, metrics)
  await readPauseGauges(db, metrics)
  await readProcessGauges(db, metrics)
  await setStorageGauges(db, metrics)
  await setWarningGauge(app, db, queue)
}

/** The alerts are these warnings, so that they judge as the status does. */
async function setWarningGauge(app: App, db: Db, queue: QueueSystem): Promise<void> {
  // No check needs the delays of a day, and reading them takes the longest.
  const { warnings } = await readStatus({
    ...statusDeps(app, queue, db),
    readDelays: async () => [],
  })
  app.metrics.warnings.reset()
  for (const { code, level } of warnings) app.metrics.warnings.inc({ code, level })
}

async function setStorageGauges(db: Db, metrics: App['metrics']): Promise<void> {
  const { databaseBytes, disk } = await readStorage(db)
  metrics.databaseSize.set(databaseBytes)
  for (const { part, bytes } of await readPartSizes(db)) metrics.partSize.set({ part }, bytes)
  metrics.diskFullIn.remove()
  metrics.diskFree.remove()
  metrics.diskSize.remove()
  if (disk === undefined) return
  metrics.diskFree.set(disk.freeBytes)
  metrics.diskSize.set(disk.totalBytes)
  const days = daysUntilFull(disk.freeBytes, await readGrowth(db))
  if (days !== null) metrics.diskFullIn.set(days * DAY_SECONDS)
}

/** Sets the gauges of pauses from their table. */
export async function readPauseGauges(db: Db, metrics: App['metrics']): Promise<void> {
  const running = (await listPauses(db)).filter((pause) => pause.running)
  for (const what of PAUSED_WORK) {
    metrics.paused.set({ what }, running.some((pause) => pause.what === what) ? 1 : 0)
  }
}
