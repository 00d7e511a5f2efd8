import type { FastifyInstance } from 'fastify'
import type { World } from '../world/world.ts'
import { assertKnown, readInstant, readSeq } from './control-query.ts'
import { countBySecond } from './count-by-second.ts'
import type { Query } from './read-question.ts'
import type { RequestLog } from './request-log.ts'
import type { RouteLists } from './route-lists.ts'
import type { SandboxClock } from './sandbox-clock.ts'

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

  server.get('/sandbox/log', (request) => {
    const query = request.query as Query
    assertKnown(query, ['after'])
    return requestLog.after(readSeq(query, 'after'), LOG_PAGE)
  })

  server.get('/sandbox/log/seconds', (request) => {
    const query = request.query as Query
    assertKnown(query, ['from', 'to'])
    const from = readInstant(query, 'from')?.getTime() ?? Number.NEGATIVE_INFINITY
    const to = readInstant(query, 'to')?.getTime() ?? Number.POSITIVE_INFINITY
    return { seconds: countBySecond(requestLog.between(from, to)) }
  })
}
