import { withTimeout } from '../base/timeout.ts'
import { databaseNow } from '../db/transaction.ts'
import type { QueueSystem } from '../queue/queue-system.ts'
import { type App, STORE_TIMEOUT_MS } from './app.ts'
import type { Work } from './work.ts'

/** Sets the gauges of this process for a scrape. Never rejects: an unavailable store is a value of the gauges. */
export async function setProcessGauges(
  app: App,
  work: Work | undefined,
  queue: Pick<QueueSystem, 'clockSkewMs'>,
): Promise<void> {
  const { database, metrics } = app
  for (const { queue: name, handle } of work?.workers ?? []) {
    const at = handle.progress().lastActivityAt.getTime() / 1000
    metrics.queueLastActivity.set({ queue: name }, at)
  }
  setPoolGauges(database, metrics)
  await Promise.all([
    setDatabaseGauges(app),
    // A process without workers needs no connection to the store of the queue.
    work === undefined ? undefined : setQueueSkew(queue, metrics),
  ])
}

function setPoolGauges({ pool }: App['database'], metrics: App['metrics']): void {
  metrics.databaseConnections.set({ state: 'idle' }, pool.idleCount)
  metrics.databaseConnections.set({ state: 'busy' }, pool.totalCount - pool.idleCount)
  metrics.databaseConnectionsMax.set(pool.options.max)
  metrics.databaseWaiting.set(pool.waitingCount)
}

/** Queries through the pool, as all work does: for the process an exhausted pool is as bad as a database that is down. */
async function setDatabaseGauges({ database, metrics, clock }: App): Promise<void> {
  const startedMs = performance.now()
  try {
    const sentAt = clock.now().getTime()
    const now = await withTimeout(databaseNow(database.db), STORE_TIMEOUT_MS)
    const middle = (sentAt + clock.now().getTime()) / 2
    metrics.clockSkew.set({ store: 'database' }, (now.getTime() - middle) / 1000)
    metrics.databaseUp.set(1)
  } catch {
    metrics.clockSkew.remove({ store: 'database' })
    metrics.databaseUp.set(0)
  }
  metrics.databasePing.set((performance.now() - startedMs) / 1000)
}

async function setQueueSkew(
  queue: Pick<QueueSystem, 'clockSkewMs'>,
  metrics: App['metrics'],
): Promise<void> {
  try {
    const skewMs = await withTimeout(queue.clockSkewMs(), STORE_TIMEOUT_MS)
    metrics.clockSkew.set({ store: 'queue' }, skewMs / 1000)
  } catch {
    metrics.clockSkew.remove({ store: 'queue' })
  }
}
