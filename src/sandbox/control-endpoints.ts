import type { FastifyInstance } from 'fastify'
import { sendProblem } from '../http/server.ts'
import type { RequestLog } from './request-log.ts'
import type { RouteLists } from './route-lists.ts'
import type { SandboxClock } from './sandbox-clock.ts'
import type { World } from './world.ts'

const LOG_PAGE = 10_000

export interface ControlDeps {
  readonly world: World
  readonly clock: SandboxClock
  readonly lists: RouteLists
  readonly requestLog: RequestLog
}

/** Endpoints that no upstream has: they show the sandbox to whoever tests against it, and are not logged. */
export function controlEndpoints(server: FastifyInstance, deps: ControlDeps): void {
  const { world, clock, lists, requestLog } = deps

  server.get('/sandbox/world', () => {
    const worldNow = clock.worldTimeAt(clock.realNow())
    return {
      seed: world.seed,
      speed: clock.speed,
      worldTime: worldNow.toISOString(),
      counts: {
        airports: world.airports.length,
        ...lists.counts(worldNow),
        requests: requestLog.count(),
      },
    }
  })

  server.get('/sandbox/log', (request, reply) => {
    const { after = '0' } = request.query as Readonly<Record<string, unknown>>
    if (typeof after !== 'string' || !/^\d{1,15}$/.test(after)) {
      return sendProblem(reply, {
        status: 400,
        code: 'request.invalid',
        title: 'after must be the seq of a log entry, 0 or more',
      })
    }
    return requestLog.after(Number(after), LOG_PAGE)
  })
}
