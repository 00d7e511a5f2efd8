import { messageOf } from '../base/errors.ts'
import { sql } from '../db/database.ts'
import { assertMigrated } from '../db/migrate.ts'
import { createHttpServer, type HttpServer } from '../http/server.ts'
import { renderMetrics } from '../metrics/metrics.ts'
import type { QueueSystem } from '../queue/queue-system.ts'
import type { App } from './app.ts'
import { withinCheck } from './deadline.ts'
import { readProcessGauges } from './process-gauges.ts'
import type { SystemGauges } from './system-gauges.ts'
import type { Work } from './work.ts'

/** A worker polls every few seconds when idle; this long without any sign of it is a wedged one. */
const WORKER_SILENCE_MS = 90_000

export interface AdminDeps {
  readonly app: App
  /** Whether this process is to work; and its work, once that has started. */
  readonly works: boolean
  readonly work: () => Work | undefined
  /** Whether the API takes requests, or is none of this process's roles. */
  readonly serving: () => boolean
  /** Why its work is of no use any more; null while it is. */
  readonly fault: () => string | null
  readonly queue: Pick<QueueSystem, 'clockSkewMs'>
  readonly systemGauges: SystemGauges
  /** Whether the process is on its way out. */
  readonly draining: () => boolean
}

interface Check {
  readonly name: string
  /** Null where all is well. */
  readonly fault: string | null
  /** How long a store took to answer. */
  readonly tookMs?: number
  /** When a worker last polled or ended a job. */
  readonly lastActivityAt?: Date
}

/**
 * Health and metrics for ops, apart from the API.
 *
 * /livez is the event loop, and that the work makes progress: 503 is a process that only a new start mends, and that
 * ends itself soon. /readyz is what this process needs to be of use: database, schema, workers
 * that move, not draining; an upstream that is down does not fail it, for a restart would not mend that. It tells the
 * checks that fail, `?verbose` all of them.
 */
export function createAdminServer(deps: AdminDeps): HttpServer {
  const { app } = deps
  const server = createHttpServer({ log: app.log })
  server.get('/livez', async (_request, reply) => {
    const reason = deps.fault()
    if (reason === null) return { status: 'live' }
    return reply.code(503).send({ status: 'wedged', reason })
  })
  server.get('/readyz', async (request, reply) => {
    const checks = await checkReadiness(deps)
    const failing = checks.filter(({ fault }) => fault !== null)
    const ready = failing.length === 0
    const verbose = Object.hasOwn(request.query as object, 'verbose')
    return reply
      .code(ready ? 200 : 503)
      .send({ status: ready ? 'ready' : 'not ready', checks: verbose ? checks : failing })
  })
  server.get('/metrics', async (_request, reply) => {
    await readProcessGauges(app, deps.work(), deps.queue)
    const withSystem = await deps.systemGauges.refresh()
    return reply
      .type(app.metrics.registry.contentType)
      .send(await renderMetrics(app.metrics, { withSystem }))
  })
  return server
}

async function checkReadiness(deps: AdminDeps): Promise<Check[]> {
  const { app, work, draining } = deps
  const { db } = app.database
  const [database, schema] = await Promise.all([
    checkStore('database', sql`select 1`.execute(db), deps),
    checkStore('schema', assertMigrated(db), deps),
  ])
  const workers = (work()?.workers ?? []).map(({ queue, handle }) => {
    const { lastActivityAt } = handle.progress()
    const silentMs = app.clock.now().getTime() - lastActivityAt.getTime()
    const fault = silentMs > WORKER_SILENCE_MS ? `no sign of life for ${silentMs} ms` : null
    return { name: `worker ${queue}`, fault, lastActivityAt }
  })
  return [
    { name: 'not draining', fault: draining() ? 'shutting down' : null },
    { name: 'started', fault: startingFault(deps) },
    database,
    schema,
    ...workers,
  ]
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
  const fault = await withinCheck(answer).then(
    () => null,
    (err: unknown) => app.syncDeps.scrub(messageOf(err)),
  )
  return { name, fault, tookMs: Math.round(performance.now() - fromMs) }
}
