import { withTimeout } from '../platform/base/timeout.ts'
import { databaseNow } from '../platform/db/transaction.ts'
import type { QueueSystem } from '../platform/queue/queue-system.ts'
import { type App, STORE_TIMEOUT_MS } from './app.ts'
import type { Work } from './work.ts'

/** Sets the gauges of this process for a scrape. Never rejects: an unavailable store is a value of the gauges. */
export async function setProcessGauges(
  app: App,
  work: Work | undefined,
  queue: Pick<QueueSystem, 'clockSkewMs'>,
): Promise<void> {
  const { database, requestDatabase, metrics } = app
  for (const { queue: name, handle } of work?.workers ?? []) {
    const at = handle.progress().lastActivityAt.getTime() / 1000
    metrics.queueLastActivity.set({ queue: name }, at)
  }
  setPoolGauges([database.pool, requestDatabase.pool], metrics)
  await Promise.all([
    setDatabaseGauges(app),
    // A process without workers needs no connection to the store of the queue.
    work === undefined ? undefined : setQueueSkew(queue, metrics),
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
