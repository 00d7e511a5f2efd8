import { once } from 'node:events'
import { listen } from '../http/server.ts'
import type { QueueSystem } from '../queue/queue-system.ts'
import { createAdminServer } from './admin-server.ts'
import { createApiServer } from './api-server.ts'
import { type App, assertReady, migrateApp, openQueue } from './app.ts'
import { createLiveness, type Liveness } from './liveness.ts'
import { LeftBehindError, type Part, stopInOrder } from './stop-in-order.ts'
import { createSystemGauges } from './system-gauges.ts'
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
  /** Ends what the process stands on, after its parts. */
  readonly release: () => Promise<void>
}

/** For everything, and at the most for each part: container engines kill after ten seconds unless told otherwise. */
const GRACE_MS = 9_000
const PART_GRACE_MS = {
  stores: 1_500,
  gauges: 1_200,
  admin: 500,
  queue: 6_500,
  reconciler: 1_000,
  api: 3_000,
}

/**
 * Runs the roles of this process until the signal, or until `watch` says that they cannot go on, or until they make no
 * progress any more (WedgedError). Ends them in order, each part within its time: readiness says so first and health
 * goes last, the API takes no more, the workers end or give back what they hold, the stores are let go. Rejects with
 * LeftBehindError where a part did not end.
 */
export async function runRoles(app: App, options: RunOptions): Promise<void> {
  const { signal, watch, onStep, onReady } = options
  const ending = new AbortController()
  const parts: Part[] = [part('stores', () => app.close())]
  const stop = async () => {
    ending.abort()
    const from = app.clock.now().getTime()
    const left = await stopInOrder(parts, { graceMs: GRACE_MS, clock: app.clock, log: app.log })
    await options.release()
    app.log.info(stoppedFields(left, app.clock.now().getTime() - from), 'stopped')
    return left
  }
  try {
    await prepareDatabase(app, options)
    await options.seed?.(app)
    signal.throwIfAborted()
    const { addresses, liveness } = await startRoles(app, options, { parts, ending: ending.signal })
    onReady(addresses)
    app.log.info({ roles: options.roles, ...Object.fromEntries(addresses) }, 'ready')
    await Promise.race([
      signal.aborted ? undefined : once(signal, 'abort'),
      ...(liveness === undefined ? [] : [liveness.watch(ending.signal)]),
      ...(watch === undefined ? [] : [watch(app, ending.signal)]),
    ])
    onStep('stopping')
    app.log.info('stopping')
  } catch (err) {
    await stop()
    throw err
  }
  const left = await stop()
  if (left.length > 0) throw new LeftBehindError(left)
}

/** The last that a service says. */
function stoppedFields(left: readonly string[], tookMs: number) {
  return { tookMs, ...(left.length === 0 ? {} : { leftBehind: left }) }
}

function part(name: keyof typeof PART_GRACE_MS, stop: Part['stop']): Part {
  return { name, graceMs: PART_GRACE_MS[name], stop }
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

interface Starting {
  /** What runs, to be ended in the reverse order. */
  readonly parts: Part[]
  /** Aborted when the process is on its way out, for whatever reason. */
  readonly ending: AbortSignal
}

interface Running {
  work?: Work
  liveness?: Liveness
  /** Whether the API takes requests. */
  api?: boolean
}

/** Starts what the roles ask for, and notes how to end it. */
async function startRoles(
  app: App,
  { roles, signal, onStep, openReseller }: RunOptions,
  { parts, ending }: Starting,
): Promise<{ addresses: Addresses; liveness: Liveness | undefined }> {
  const running: Running = {}
  const works = roles.includes('worker')
  const queue = openQueue(app)
  const systemGauges = createSystemGauges({ app, queue })
  parts.push(part('gauges', () => systemGauges.close()))
  const admin = createAdminServer({
    app,
    works,
    work: () => running.work,
    serving: () => running.api === true || !roles.includes('api'),
    fault: () => running.liveness?.fault() ?? null,
    queue,
    systemGauges,
    draining: () => signal.aborted || ending.aborted,
  })
  const { ADMIN_HOST, ADMIN_PORT, API_HOST, API_PORT } = app.config
  const adminPlace = { host: ADMIN_HOST, port: ADMIN_PORT, setting: 'ADMIN_PORT' }
  parts.push(part('admin', () => admin.close()))
  const adminUrl = await listen(admin, adminPlace)
  parts.push(part('queue', (graceMs) => queue.close({ graceMs })))
  if (works) {
    running.work = await startWorker(app, queue, { onStep, parts })
    running.liveness = createLiveness({ app, queue, work: running.work })
  }
  const addresses: Addresses = []
  if (roles.includes('api')) {
    const api = createApiServer(app, openReseller)
    parts.push(part('api', () => api.close()))
    const url = await listen(api, { host: API_HOST, port: API_PORT, setting: 'API_PORT' })
    running.api = true
    addresses.push(['api', `${url}/api/v1/status`])
  }
  addresses.push(['health', `${adminUrl}/readyz`], ['metrics', `${adminUrl}/metrics`])
  return { addresses, liveness: running.liveness }
}

async function startWorker(
  app: App,
  queue: QueueSystem,
  { onStep, parts }: Pick<RunOptions, 'onStep'> & Pick<Starting, 'parts'>,
): Promise<Work> {
  await queue.start()
  const work = await startWork(app, queue)
  parts.push(part('reconciler', () => work.stop()))
  onStep(`queue on ${queue.kind === 'redis' ? 'Redis' : 'PostgreSQL'}`)
  return work
}
