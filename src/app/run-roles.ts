import { once } from 'node:events'
import { adoptTargets } from '../delivery/endpoints/addresses.ts'
import { assertEncryptionKey } from '../delivery/endpoints/sealer.ts'
import type { Clock } from '../platform/base/clock.ts'
import { withTimeout } from '../platform/base/clock.ts'
import { AppError, messageOf } from '../platform/base/errors.ts'
import { WORK_ROLES, type WorkRole } from '../platform/base/kinds.ts'
import type { Logger } from '../platform/base/logger.ts'
import { startLoop } from '../platform/base/loop.ts'
import { learnSecret } from '../platform/base/secrets.ts'
import { localUrlOf, publicUrlOf } from '../platform/config/addresses.ts'
import { followSecretFile } from '../platform/config/config.ts'
import type { Config } from '../platform/config/settings.ts'
import { beginIfRestored } from '../platform/db/generations.ts'
import { PROGRESS_MS, type RoleName, roleText } from '../platform/db/live-processes.ts'
import { nameProcesses } from '../platform/db/migrate.ts'
import { watchSchema } from '../platform/db/schema-version.ts'
import { assertPortUsable, type ListenOptions, listen } from '../platform/http/server.ts'
import type { QueueSystem } from '../platform/queue/queue-system.ts'
import { createAdminServer } from './admin-server.ts'
import { createApiServer } from './api-server.ts'
import { type App, assertReady, migrateApp, openQueue } from './app.ts'
import { createDelivery } from './delivery.ts'
import { createLiveness, type Liveness } from './liveness.ts'
import { announceProcess } from './processes.ts'
import { createHealthReports } from './report-health.ts'
import { warnOfTokenInClear } from './settings-for.ts'
import { createSystemGauges } from './system-gauges.ts'
import { startTracing } from './tracing.ts'
import { startWork, type Work } from './work.ts'

export interface RunOptions {
  readonly roles: readonly RoleName[]
  /** Whether to migrate first. Otherwise the schema must be up to date. */
  readonly migrate: boolean
  /** Stops the run in order and within the grace time. */
  readonly signal: AbortSignal
  /** Monitors a dependency of the process until the signal aborts. Rejects when the dependency has died. */
  readonly monitor?: (app: App, signal: AbortSignal) => Promise<never>
  /** Writes demonstration data into the migrated database before the work begins. */
  readonly seed?: (app: App) => Promise<void>
  readonly onStep: (text: string) => void
  readonly onReady: (addresses: Addresses) => Promise<void>
  /** Stops the dependencies of the process, after its parts. */
  readonly release: () => Promise<void>
}

/**
 * The grace time of all parts together, then of each part. By default, container engines kill a process after ten
 * seconds.
 */
const GRACE_MS = 9_000
const PART_GRACE_MS = {
  stores: 1_500,
  tracing: 1_000,
  process: 1_000,
  gauges: 1_200,
  admin: 500,
  queue: 6_500,
  loops: 1_000,
  delivery: 2_000,
  api: 3_000,
}

/**
 * Runs the roles of this process until the signal aborts, until `monitor` rejects, or until they make no progress
 * (NoProgressError). Then it stops them in order, each part within its time: /readyz fails first, the API accepts
 * no more requests, the workers finish or release their jobs, the health endpoints close, then the stores. Rejects
 * with StopTimeoutError if a part did not stop.
 */
export async function runRoles(app: App, options: RunOptions): Promise<void> {
  const { signal, monitor, onStep, onReady } = options
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
    const role = roleText(options.roles)
    const tracing = await startTracing(app.config, { role, log: app.log })
    if (tracing !== undefined) parts.push(part('tracing', (graceMs) => tracing.close(graceMs)))
    await prepareDatabase(app, options)
    await options.seed?.(app)
    signal.throwIfAborted()
    const { addresses, liveness } = await startRoles(app, options, { parts, ending: ending.signal })
    await onReady(addresses)
    app.log.info({ roles: options.roles, ...Object.fromEntries(addresses) }, 'ready')
    await Promise.race([
      signal.aborted ? undefined : once(signal, 'abort'),
      watchSchema(app.database.db, ending.signal),
      ...(liveness === undefined ? [] : [liveness.watch(ending.signal)]),
      ...(monitor === undefined ? [] : [monitor(app, ending.signal)]),
    ])
    onStep('stopping')
    app.log.info('stopping')
  } catch (err) {
    await stop()
    throw err
  }
  const left = await stop()
  if (left.length > 0) throw new StopTimeoutError(left)
}

/** Throws if a port is taken, before a process connects to its stores or changes them. */
export async function assertPortsUsable(config: Config, roles: readonly RoleName[]): Promise<void> {
  await assertPortUsable(adminAddress(config))
  if (roles.includes('api')) await assertPortUsable(apiAddress(config))
}

function adminAddress({ ADMIN_HOST: host, ADMIN_PORT: port }: Config): ListenOptions {
  return { host, port, setting: 'ADMIN_PORT' }
}

function apiAddress({ API_HOST: host, API_PORT: port }: Config): ListenOptions {
  return { host, port, setting: 'API_PORT' }
}

/** The fields of the last log line. */
function stoppedFields(left: readonly string[], tookMs: number) {
  return { tookMs, ...(left.length === 0 ? {} : { notStopped: left }) }
}

function part(name: keyof typeof PART_GRACE_MS, stop: Part['stop']): Part {
  return { name, graceMs: PART_GRACE_MS[name], stop }
}

async function prepareDatabase(app: App, { migrate, onStep }: RunOptions): Promise<void> {
  if (migrate) {
    const applied = await migrateApp(app, {
      // Until a process that was killed is forgotten.
      waitMs: PROGRESS_MS + 5_000,
      onWait: (processes) => app.log.warn(`waiting for the end of ${nameProcesses(processes)}`),
    })
    onStep(applied.length === 0 ? 'schema up to date' : `${applied.length} migrations applied`)
  } else await assertReady(app)
  await assertEncryptionKey(app.database.db, app.sealer)
  await adoptTargets(app.database.db, app.sealer)
}

/** Takes the credential of the upstream from its file whenever the file has another one. */
function followToken({ config, clock, log, upstream, breaker }: App, signal: AbortSignal) {
  const onChange = async (token: string) => {
    learnSecret(token)
    upstream.replaceToken(token)
    log.info('the file of the access token has another one: it is used from now on')
    await breaker.credentialReplaced().catch((err: unknown) => {
      log.warn({ reason: messageOf(err) }, 'a breaker stays open until its next probe')
    })
  }
  const name = 'UPSTREAM_ACCESS_TOKEN'
  return followSecretFile({ name, value: config[name], clock, signal, onChange })
}

export type Addresses = readonly (readonly [string, string])[]

interface Starting {
  /** The started parts, to be stopped in reverse order. */
  readonly parts: Part[]
  /** Aborted when the process is shutting down, for any reason. */
  readonly ending: AbortSignal
}

interface Running {
  work?: Work
  liveness?: Liveness
  /** Whether the API accepts requests. */
  api?: boolean
}

/** Starts the parts that the roles need, and adds each to `parts`. */
async function startRoles(
  app: App,
  { roles, signal, onStep }: RunOptions,
  { parts, ending }: Starting,
): Promise<{ addresses: Addresses; liveness: Liveness | undefined }> {
  warnOfTokenInClear(app)
  void followToken(app, ending)
  const running: Running = {}
  const fault = () => running.liveness?.fault() ?? null
  // A standby may take over while the process runs.
  const onRefresh = () => beginIfRestored(app.database.db, app.log)
  const announced = announceProcess(app, { role: roleText(roles), fault, onRefresh })
  parts.push(part('process', () => announced.close()))
  const work = WORK_ROLES.filter((role) => roles.includes(role))
  const works = work.length > 0
  const queue = openQueue(app)
  const systemGauges = createSystemGauges(app, queue)
  parts.push(part('gauges', () => systemGauges.close()))
  const admin = createAdminServer({
    app,
    works,
    work: () => running.work,
    serving: () => running.api === true || !roles.includes('api'),
    fault,
    queue,
    systemGauges,
    draining: () => signal.aborted || ending.aborted,
  })
  parts.push(part('admin', () => admin.close()))
  const adminUrl = await listen(admin, adminAddress(app.config))
  parts.push(part('queue', (graceMs) => queue.close({ graceMs })))
  if (works) {
    running.work = await startWorker(app, queue, { roles: work, onStep, parts })
    running.liveness = createLiveness({ app, queue, work: running.work })
  } else parts.push(startReports(app, queue))
  const addresses: [string, string][] = []
  if (roles.includes('api')) {
    const api = createApiServer(app, queue)
    parts.push(part('api', () => api.close()))
    const url = await listen(api, apiAddress(app.config))
    running.api = true
    const local = localUrlOf(app.config, Number(new URL(url).port))
    const page = publicUrlOf(app.config) ?? local
    addresses.push(['page', `${page}/`], ['api', `${local}/api/v1/status`])
  }
  addresses.push(['health', `${adminUrl}/readyz`], ['metrics', `${adminUrl}/metrics`])
  return { addresses, liveness: running.liveness }
}

/** The reports of a process that does no work. */
function startReports(app: App, queue: QueueSystem): Part {
  const { loop, close } = createHealthReports(app, queue, { works: false })
  const reports = startLoop(loop, { clock: app.clock, log: app.log, random: Math.random })
  return part('loops', () => reports.stop().then(close))
}

interface WorkerArgs extends Pick<RunOptions, 'onStep'>, Pick<Starting, 'parts'> {
  readonly roles: readonly WorkRole[]
}

/** Deliveries need no queue. */
async function startWorker(
  app: App,
  queue: QueueSystem,
  { roles, onStep, parts }: WorkerArgs,
): Promise<Work> {
  const delivery = roles.includes('deliver') ? createDelivery(app) : undefined
  if (delivery !== undefined) parts.push(part('delivery', (graceMs) => delivery.close(graceMs)))
  const queues = roles.some((role) => role !== 'deliver')
  if (queues) await queue.start()
  const heartbeatUrl = roles.includes('sync') ? app.config.HEARTBEAT_URL : undefined
  const reports = createHealthReports(app, queue, { works: true, heartbeatUrl })
  const more = [...(delivery?.loops ?? []), reports.loop]
  const work = await startWork(app, queue, { roles, more })
  parts.push(part('loops', () => work.stop().then(reports.close)))
  if (!queues) return work
  onStep(`queue on ${queue.kind === 'redis' ? 'Redis' : 'PostgreSQL'}`)
  return work
}

/** A part of a running process that must be stopped. */
export interface Part {
  readonly name: string
  /** How long stopping may take. */
  readonly graceMs: number
  /** Stops the part within the time that is left. */
  stop(graceMs: number): Promise<void>
}

/** Some parts did not stop in time. The process ends anyway, and other processes continue their work. */
class StopTimeoutError extends AppError {
  override readonly name = 'StopTimeoutError'
  override readonly code = 'app.stop_timeout'
  override readonly retryable = true

  constructor(parts: readonly string[]) {
    super(`did not stop in time: ${parts.join(', ')}; their work continues at the next start`)
  }
}

/** The time that is reserved for each later part. */
const RESERVE_MS = 250
/** A part may exceed its time by this much, because timers are late. */
const TOLERANCE_MS = 100

/**
 * Stops the parts, the last started first, each within its own time and all within `graceMs`. A part that hangs
 * takes no time from the parts after it. Returns the names of the parts that had not stopped when all had: a loop
 * in a long statement ends while the queue stops. Never rejects.
 */
export async function stopInOrder(
  parts: readonly Part[],
  { graceMs, clock, log }: { graceMs: number; clock: Clock; log: Logger },
): Promise<string[]> {
  const endsAt = clock.now().getTime() + graceMs
  const left = new Set<string>()
  for (const [i, part] of parts.toReversed().entries()) {
    const later = parts.slice(0, parts.length - 1 - i)
    const reserved = later.reduce((sum, { graceMs: own }) => sum + Math.min(own, RESERVE_MS), 0)
    const ms = Math.max(0, Math.min(part.graceMs, endsAt - clock.now().getTime() - reserved))
    left.add(part.name)
    const stopped = part.stop(ms).then(() => left.delete(part.name))
    await withTimeout(stopped, ms + TOLERANCE_MS).catch((err: unknown) => {
      log.warn({ part: part.name, reason: messageOf(err) }, 'a part did not stop in time')
    })
  }
  return [...left]
}
