import { judge } from '../health/checks.ts'
import { DOCTOR_CHECKS } from '../health/doctor-checks.ts'
import { missingRoles } from '../health/limits.ts'
import {
  readSharedReport,
  recordWarnings,
  type SharedReport,
  type UnsavedReport,
} from '../health/report-warnings.ts'
import { readStatus } from '../health/status-operations.ts'
import type { Status, StatusWarning } from '../health/status-shapes.ts'
import { advanceWarnings } from '../health/warning-events.ts'
import { AppError, messageOf } from '../platform/base/errors.ts'
import type { Loop } from '../platform/base/loop.ts'
import { isDatabaseUnavailable } from '../platform/db/database-health.ts'
import type { QueueSystem } from '../platform/queue/queue-system.ts'
import type { App } from './app.ts'
import { createDirectSender, type DirectSender } from './delivery.ts'
import { statusDeps } from './health-deps.ts'

const EVERY_MS = 60_000
const TIMEOUT_MS = 10_000
/** Each of them means that some work has stopped. */
const WITHHELD = new Set(['queue_down', 'no_tick', 'no_process', 'role_missing'])

/** The service that expects the heartbeat answered with another status than 2xx. */
class HeartbeatRefusedError extends AppError {
  override readonly name = 'HeartbeatRefusedError'
  override readonly code = 'app.heartbeat_refused'
  override readonly retryable = true
}

interface ReportOptions {
  /** Whether this process does work: it reports from memory while the database takes no writes. */
  readonly works: boolean
  /** Where its heartbeat goes. */
  readonly heartbeatUrl?: string | undefined
}

/** What is wrong, and why this process could not save that. */
interface Reading {
  readonly warnings: readonly StatusWarning[]
  readonly failure?: unknown
  /** Whether the status was read. */
  readonly isRead: boolean
}

/**
 * Reads each minute what is wrong. Sends it to the endpoints of operators when it begins, grows worse or ends, and to the
 * service that expects a heartbeat while each part of the work makes progress.
 *
 * The events are deliveries as others are. While the database takes no writes, each worker sends them from memory, once;
 * and while no process makes deliveries, the process that has saved them, which may be an API.
 */
export function createHealthReports(
  app: App,
  queue: QueueSystem,
  { works, heartbeatUrl }: ReportOptions,
): { readonly loop: Loop; close(): Promise<void> } {
  const sender = createDirectSender(app)
  const report = createReporter(app, queue, { works, sender, beats: heartbeatUrl !== undefined })
  const run = async (signal: AbortSignal) => {
    const { warnings, failure, isRead } = await report()
    await sender.send(signal)
    if (isRead && heartbeatUrl !== undefined)
      await sendHeartbeat(app, { heartbeatUrl, warnings, signal })
    if (failure !== undefined) throw failure
    return undefined
  }
  return {
    loop: { name: 'report-health', atMostMs: EVERY_MS, run },
    close: () => sender.close(),
  }
}

interface ReporterDeps {
  readonly works: boolean
  readonly beats: boolean
  readonly sender: DirectSender
}

function createReporter(
  app: App,
  queue: QueueSystem,
  { works, beats, sender }: ReporterDeps,
): () => Promise<Reading> {
  const { clock, database } = app
  const { db } = database
  let shared: SharedReport | undefined
  let unsaved: UnsavedReport | undefined
  let last: readonly StatusWarning[] = []

  const save = async (now: Date, { warnings, processes }: Status) => {
    const delivers = !missingRoles(processes ?? [], now).includes('deliver')
    const { tracked, events } = await recordWarnings(db, { now, warnings, unsaved, delivers })
    const endpoints = shared?.endpoints ?? []
    shared = { now, tracked, endpoints }
    unsaved = undefined
    if (!delivers) sender.add(endpoints, events, now)
  }
  const keepInMemory = (warnings: readonly StatusWarning[]) => {
    const now = clock.now()
    const known = unsaved?.tracked ?? shared?.tracked ?? []
    const { tracked, events } = advanceWarnings(known, warnings, now.getTime())
    unsaved = { at: now, tracked }
    sender.add(shared?.endpoints ?? [], events, now)
  }
  return async () => {
    let status: Status | undefined
    try {
      shared = await readSharedReport(db)
      // The status is read for those who receive it.
      if (!beats && shared.endpoints.length === 0) return { warnings: [], isRead: false }
      status = await readStatus({ ...statusDeps(app, queue), readDelays: async () => [] })
      await save(shared.now, status)
      last = status.warnings
      return { warnings: last, isRead: true }
    } catch (failure) {
      if (!isDatabaseUnavailable(failure)) throw failure
      const read = status?.warnings ?? []
      const known = read.filter(({ code }) => code === 'database_read_only')
      const fault = known.length > 0 ? known : faultOf(failure, clock.now())
      // What else is wrong now follows from the fault, or cannot be known.
      if (works) keepInMemory([...fault, ...last])
      const warnings = [...new Set([...fault, ...read])]
      return { warnings, failure, isRead: status !== undefined }
    }
  }
}

/** The warning that `doctor` has of a database that fails so. */
function faultOf(failure: unknown, now: Date): StatusWarning[] {
  const shell = { usesSandbox: false, lacksToken: false, sendsTokenInClear: false }
  const faults = [{ part: 'database', text: messageOf(failure) }]
  return judge(DOCTOR_CHECKS, { nowMs: now.getTime(), faults, shell })
}

interface Heartbeat {
  readonly heartbeatUrl: string
  readonly warnings: readonly StatusWarning[]
  readonly signal: AbortSignal
}

/**
 * Its service notifies a person when it is silent, which is also so while this machine, the database or the network is
 * down.
 */
async function sendHeartbeat(
  { log }: App,
  { heartbeatUrl, warnings, signal }: Heartbeat,
): Promise<void> {
  const stopped = warnings.filter(({ code }) => WITHHELD.has(code))
  if (stopped.length > 0) {
    log.info({ codes: stopped.map(({ code }) => code) }, 'heartbeat withheld')
    return
  }
  const answer = fetch(heartbeatUrl, {
    method: 'POST',
    headers: { 'content-type': 'text/plain; charset=utf-8' },
    body: heartbeatText(warnings),
    signal: AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]),
  })
  const { ok, status } = await answer.catch((err: Error) => {
    throw new HeartbeatRefusedError(`HEARTBEAT_URL does not answer: ${messageOf(err.cause ?? err)}`)
  })
  if (!ok) throw new HeartbeatRefusedError(`HEARTBEAT_URL answered with ${status}`)
}

/** One line a warning. @example heartbeatText([]) // 'nothing is wrong' */
export function heartbeatText(warnings: readonly StatusWarning[]): string {
  if (warnings.length === 0) return 'nothing is wrong'
  return warnings.map(({ level, code, text }) => `${level} ${code}: ${text}`).join('\n')
}
