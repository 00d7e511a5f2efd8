import { readStatus } from '../health/status-operations.ts'
import type { StatusWarning } from '../health/status-shapes.ts'
import { AppError } from '../platform/base/errors.ts'
import type { Loop } from '../platform/base/loop.ts'
import type { QueueSystem } from '../platform/queue/queue-system.ts'
import type { App } from './app.ts'
import { statusDeps } from './read-work.ts'

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

/**
 * Requests a URL each minute, with what is wrong, while each part of the work makes progress. Its service notifies a
 * person when it is silent, which is also so while this machine, the database or the network is down.
 */
export function heartbeatLoop(app: App, queue: QueueSystem, url: string): Loop {
  return {
    name: 'heartbeat',
    atMostMs: EVERY_MS,
    run: async (signal) => {
      const deps = { ...statusDeps(app, queue), readDelays: async () => [] }
      const { warnings } = await readStatus(deps)
      const stopped = warnings.filter(({ code }) => WITHHELD.has(code))
      if (stopped.length > 0) {
        app.log.info({ codes: stopped.map(({ code }) => code) }, 'heartbeat withheld')
        return undefined
      }
      const { ok, status } = await fetch(url, {
        method: 'POST',
        headers: { 'content-type': 'text/plain; charset=utf-8' },
        body: heartbeatText(warnings),
        signal: AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]),
      })
      if (!ok) throw new HeartbeatRefusedError(`the heartbeat was answered with ${status}`)
      return undefined
    },
  }
}

/** One line a warning. @example heartbeatText([]) // 'nothing is wrong' */
export function heartbeatText(warnings: readonly StatusWarning[]): string {
  if (warnings.length === 0) return 'nothing is wrong'
  return warnings.map(({ level, code, text }) => `${level} ${code}: ${text}`).join('\n')
}
