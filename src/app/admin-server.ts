import { messageOf } from '../base/errors.ts'
import { sql } from '../db/database.ts'
import { assertMigrated } from '../db/migrate.ts'
import { createHttpServer, type HttpServer } from '../http/server.ts'
import { readSyncGauges } from '../route-sync/sync-gauges.ts'
import { readScheduleGauges } from '../schedules/schedule-gauges.ts'
import { readHealthGauges } from '../upstream/health/health-gauges.ts'
import { readFareGauges } from '../verify/fare-gauges.ts'
import type { App } from './app.ts'
import type { Work } from './work.ts'

const CHECK_DEADLINE_MS = 2_000
/** A worker polls every few seconds when idle; this long without any sign of it is a wedged one. */
const WORKER_SILENCE_MS = 90_000

export interface AdminDeps {
  readonly app: App
  /** Whether this process is to work; and its work, once that has started. */
  readonly works: boolean
  readonly work: () => Work | undefined
  /** Whether the process is on its way out. */
  readonly draining: () => boolean
}

type Check = { readonly name: string; readonly fault: string | null }

/**
 * Health and metrics for ops, apart from the API.
 *
 * /livez is the event loop alone. /readyz is what this process needs to be of use: database, schema, workers
 * that move, not draining; an upstream that is down does not fail it, for a restart would not mend that.
 */
export function createAdminServer(deps: AdminDeps): HttpServer {
  const { app } = deps
  const server = createHttpServer({ log: app.log })
  server.get('/livez', () => ({ status: 'live' }))
  server.get('/readyz', async (_request, reply) => {
    const checks = await checkReadiness(deps)
    const ready = checks.every((check) => check.fault === null)
    return reply.code(ready ? 200 : 503).send({ status: ready ? 'ready' : 'not ready', checks })
  })
  server.get('/metrics', async (_request, reply) => {
    for (const { queue, handle } of deps.work()?.workers ?? []) {
      const at = handle.progress().lastActivityAt.getTime() / 1000
      app.metrics.queueLastActivity.set({ queue }, at)
    }
    await withDeadline(readGauges(app)).catch((err: unknown) => {
      app.log.warn({ reason: messageOf(err) }, 'gauges of the database could not be read')
    })
    return reply.type(app.metrics.registry.contentType).send(await app.metrics.registry.metrics())
  })
  return server
}

async function readGauges({ database, metrics }: App): Promise<void> {
  await readSyncGauges(database.db, metrics)
  await readScheduleGauges(database.db, metrics)
  await readFareGauges(database.db, metrics)
  await readHealthGauges(database.db, metrics)
}

async function checkReadiness({ app, works, work, draining }: AdminDeps): Promise<Check[]> {
  const { db } = app.database
  const faultOf = (promise: Promise<unknown>) =>
    withDeadline(promise).then(
      () => null,
      (err: unknown) => messageOf(err),
    )
  const workers = (work()?.workers ?? []).map(({ queue, handle }) => {
    const silentMs = app.clock.now().getTime() - handle.progress().lastActivityAt.getTime()
    const fault = silentMs > WORKER_SILENCE_MS ? `no sign of life for ${silentMs} ms` : null
    return { name: `worker ${queue}`, fault }
  })
  return [
    { name: 'not draining', fault: draining() ? 'shutting down' : null },
    { name: 'started', fault: works && work() === undefined ? 'the workers are starting' : null },
    { name: 'database', fault: await faultOf(sql`select 1`.execute(db)) },
    { name: 'schema', fault: await faultOf(assertMigrated(db)) },
    ...workers,
  ]
}

async function withDeadline<T>(promise: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const deadline = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(
      () => reject(new Error(`no answer within ${CHECK_DEADLINE_MS} ms`)),
      CHECK_DEADLINE_MS,
    )
  })
  try {
    return await Promise.race([promise, deadline])
  } finally {
    clearTimeout(timer)
  }
}
