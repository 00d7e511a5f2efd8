import type { Clock } from '../base/clock.ts'
import { sql } from '../db/database.ts'
import { selectOne } from '../db/transaction.ts'
import type { QueueSystem } from '../queue/queue-system.ts'
import type { App } from './app.ts'
import { withinCheck } from './deadline.ts'
import type { Work } from './work.ts'

/** Sets what a process tells of itself at a scrape. Never rejects: a store that is away is what it tells. */
export async function readProcessGauges(
  { database, metrics, clock }: App,
  work: Work | undefined,
  queue: Pick<QueueSystem, 'clockSkewMs'>,
): Promise<void> {
  for (const { queue: name, handle } of work?.workers ?? []) {
    const at = handle.progress().lastActivityAt.getTime() / 1000
    metrics.queueLastActivity.set({ queue: name }, at)
  }
  readPool(database, metrics)
  await Promise.all([
    pingDatabase({ database, metrics, clock }),
    // A process without workers needs no connection to the queue's store.
    work === undefined ? undefined : readQueueSkew(queue, metrics),
  ])
}

function readPool({ pool }: App['database'], metrics: App['metrics']): void {
  metrics.databaseConnections.set({ state: 'idle' }, pool.idleCount)
  metrics.databaseConnections.set({ state: 'busy' }, pool.totalCount - pool.idleCount)
  metrics.databaseConnectionsMax.set(pool.options.max)
  metrics.databaseWaiting.set(pool.waitingCount)
}

/** Asks through the pool, as all work does: one that is exhausted is as bad as a database that is away. */
async function pingDatabase({
  database,
  metrics,
  clock,
}: Pick<App, 'database' | 'metrics'> & { readonly clock: Clock }): Promise<void> {
  const startedMs = performance.now()
  try {
    const asked = clock.now().getTime()
    const { now } = await withinCheck(
      selectOne(sql<{ now: Date }>`select clock_timestamp() as now`, database.db),
    )
    const middle = (asked + clock.now().getTime()) / 2
    metrics.clockSkew.set({ store: 'database' }, (now.getTime() - middle) / 1000)
    metrics.databaseUp.set(1)
  } catch {
    metrics.clockSkew.remove({ store: 'database' })
    metrics.databaseUp.set(0)
  }
  metrics.databasePing.set((performance.now() - startedMs) / 1000)
}

async function readQueueSkew(
  queue: Pick<QueueSystem, 'clockSkewMs'>,
  metrics: App['metrics'],
): Promise<void> {
  try {
    const skewMs = await withinCheck(queue.clockSkewMs())
    metrics.clockSkew.set({ store: 'queue' }, skewMs / 1000)
  } catch {
    metrics.clockSkew.remove({ store: 'queue' })
  }
}
