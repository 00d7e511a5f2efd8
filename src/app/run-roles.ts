import { once } from 'node:events'
import { type HttpServer, listen } from '../http/server.ts'
import type { QueueSystem } from '../queue/queue-system.ts'
import { createAdminServer } from './admin-server.ts'
import { createApiServer } from './api-server.ts'
import { type App, assertReady, migrateApp, openQueue } from './app.ts'
import { startWork, type Work } from './work.ts'

export type RoleName = 'worker' | 'api'

export interface RunOptions {
  readonly roles: readonly RoleName[]
  /** Whether to migrate first; else the schema must be there. */
  readonly migrate: boolean
  /** Ends the run, in order and within the grace time. */
  readonly signal: AbortSignal
  /** What a demonstration puts into the migrated database before the work begins. */
  readonly seed?: (app: App) => Promise<void>
  readonly onStep: (text: string) => void
  readonly onReady: (addresses: readonly (readonly [string, string])[]) => void
}

const HOST = '127.0.0.1'
/** Container engines kill after ten seconds unless told otherwise. */
const GRACE_MS = 8_000

/** Runs the roles of this process until the signal, then ends them: readiness first, the database last. */
export async function runRoles(app: App, options: RunOptions): Promise<void> {
  const started: (() => Promise<void>)[] = [() => app.close()]
  try {
    await prepareDatabase(app, options)
    await options.seed?.(app)
    const addresses = await startRoles(app, options, started)
    options.onReady(addresses)
    app.log.info({ roles: options.roles, ...Object.fromEntries(addresses) }, 'ready')
    if (!options.signal.aborted) await once(options.signal, 'abort')
    options.onStep('stopping')
    app.log.info('stopping')
  } finally {
    for (const stop of started.reverse()) await stop()
  }
}

async function prepareDatabase(app: App, { migrate, onStep }: RunOptions): Promise<void> {
  if (!migrate) {
    await assertReady(app)
    return
  }
  const applied = await migrateApp(app)
  onStep(applied.length === 0 ? 'schema up to date' : `${applied.length} migrations applied`)
}

type Addresses = (readonly [string, string])[]

/** Starts what the roles ask for, and notes how to end it; the last started ends first. */
async function startRoles(
  app: App,
  { roles, signal, onStep }: RunOptions,
  started: (() => Promise<void>)[],
): Promise<Addresses> {
  const work = roles.includes('worker') ? await startWorker(app, onStep, started) : undefined
  const addresses: Addresses = []
  if (roles.includes('api')) {
    const api = createApiServer(app)
    const url = await startServer(api, started, { port: app.config.API_PORT, setting: 'API_PORT' })
    addresses.push(['api', `${url}/api/v1/status`])
  }
  const admin = createAdminServer({ app, work, draining: () => signal.aborted })
  const url = await startServer(admin, started, {
    port: app.config.ADMIN_PORT,
    setting: 'ADMIN_PORT',
  })
  addresses.push(['health', `${url}/readyz`], ['metrics', `${url}/metrics`])
  return addresses
}

async function startWorker(
  app: App,
  onStep: RunOptions['onStep'],
  started: (() => Promise<void>)[],
): Promise<Work> {
  const queue: QueueSystem = openQueue(app)
  started.push(() => queue.close({ graceMs: GRACE_MS }))
  await queue.start()
  const work = await startWork(app, queue)
  started.push(() => work.stop(GRACE_MS))
  onStep(`queue on ${queue.kind === 'redis' ? 'Redis' : 'PostgreSQL'}`)
  return work
}

async function startServer(
  server: HttpServer,
  started: (() => Promise<void>)[],
  { port, setting }: { port: number; setting: string },
): Promise<string> {
  started.push(() => server.close())
  return listen(server, { host: HOST, port, setting })
}
