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
  /** Watches what the process stands on, until the signal: rejects when it is gone for good. */
  readonly watch?: (app: App, signal: AbortSignal) => Promise<never>
  /** The name of the reseller whose data need no key on this machine, until a first key exists. */
  readonly openReseller?: string
  /** What a demonstration puts into the migrated database before the work begins. */
  readonly seed?: (app: App) => Promise<void>
  readonly onStep: (text: string) => void
  readonly onReady: (addresses: readonly (readonly [string, string])[]) => void
}

const HOST = '127.0.0.1'
/** Container engines kill after ten seconds unless told otherwise. */
const GRACE_MS = 8_000

/**
 * Runs the roles of this process until the signal, or until `watch` says that they cannot go on. Ends them in order:
 * readiness says so first and health goes last, the API takes no more, the workers end or give back what they
 * hold, the database is let go.
 */
export async function runRoles(app: App, options: RunOptions): Promise<void> {
  const { signal, watch, onStep, onReady } = options
  const running = new AbortController()
  const started: (() => Promise<void>)[] = [() => app.close()]
  try {
    await prepareDatabase(app, options)
    await options.seed?.(app)
    signal.throwIfAborted()
    const addresses = await startRoles(app, options, started)
    onReady(addresses)
    app.log.info({ roles: options.roles, ...Object.fromEntries(addresses) }, 'ready')
    await Promise.race([
      signal.aborted ? undefined : once(signal, 'abort'),
      ...(watch === undefined ? [] : [watch(app, running.signal)]),
    ])
    onStep('stopping')
    app.log.info('stopping')
  } finally {
    running.abort()
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
  { roles, signal, onStep, openReseller }: RunOptions,
  started: (() => Promise<void>)[],
): Promise<Addresses> {
  const running: { work?: Work } = {}
  const admin = createAdminServer({
    app,
    works: roles.includes('worker'),
    work: () => running.work,
    draining: () => signal.aborted,
  })
  const adminPort = { port: app.config.ADMIN_PORT, setting: 'ADMIN_PORT' }
  const adminUrl = await startServer(admin, started, adminPort)
  if (roles.includes('worker')) running.work = await startWorker(app, onStep, started)
  const addresses: Addresses = []
  if (roles.includes('api')) {
    const apiPort = { port: app.config.API_PORT, setting: 'API_PORT' }
    const url = await startServer(createApiServer(app, openReseller), started, apiPort)
    addresses.push(['api', `${url}/api/v1/status`])
  }
  addresses.push(['health', `${adminUrl}/readyz`], ['metrics', `${adminUrl}/metrics`])
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
  started.push(() => work.stop())
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
