import type { FastifyInstance } from 'fastify'
import { AppError } from '../../src/platform/base/errors.ts'
import { cleanText } from '../../src/platform/base/text.ts'
import { sendProblem } from '../../src/platform/http/problems.ts'
import type { HttpServer } from '../../src/platform/http/server.ts'
import type { World } from '../world/world.ts'
import { countBySecond, type RequestLog } from './request-log.ts'
import type { RouteLists } from './route-list-operations.ts'
import type { SandboxClock } from './sandbox-clock.ts'
import type { Query } from './serve-operations.ts'

const LOG_PAGE = 10_000

interface ControlDeps {
  readonly world: World
  readonly clock: SandboxClock
  readonly lists: RouteLists
  readonly requestLog: RequestLog
}

/** Operations for the tests of a client: no upstream has them, and the request log leaves them out. */
export function controlOperations(server: FastifyInstance, deps: ControlDeps): void {
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

/** The query of a control operation is invalid, or names something that does not exist. */
export class ControlQueryError extends AppError {
  override readonly name = 'ControlQueryError'
  override readonly code = 'request.invalid'
  readonly statusCode: 400 | 404

  constructor(message: string, statusCode: 400 | 404 = 400) {
    super(message)
    this.statusCode = statusCode
  }
}

/** Answers a ControlQueryError in this scope as a problem. The server handles other errors. */
export function answerControlErrors(scope: HttpServer): void {
  scope.setErrorHandler((thrown, _request, reply) => {
    if (!(thrown instanceof ControlQueryError)) throw thrown
    const { statusCode: status, code, message: title } = thrown
    return sendProblem(reply, { status, code, title })
  })
}

/** Throws ControlQueryError for an unknown parameter. */
export function assertKnown(query: Query, names: readonly string[]): void {
  const unknown = Object.keys(query).find((name) => !names.includes(name))
  if (unknown === undefined) return
  throw new ControlQueryError(
    `there is no parameter ${cleanText(unknown, 60)}; the parameters are ${names.join(', ')}`,
  )
}

const INSTANT = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d{1,3})?)?(Z|[+-]\d{2}:\d{2})$/

/** An instant with its zone; undefined if the parameter is absent. Throws ControlQueryError. */
export function readInstant(query: Query, name: string): Date | undefined {
  const text = query[name]
  if (text === undefined) return undefined
  const instant = typeof text === 'string' && INSTANT.test(text) ? new Date(text) : undefined
  if (instant && !Number.isNaN(instant.getTime())) return instant
  throw new ControlQueryError(
    `${name} must be an instant with its zone, such as 2026-01-31T12:00:00Z`,
  )
}

/** A parameter that is required once. Throws ControlQueryError. */
export function readText(query: Query, name: string): string {
  const text = query[name]
  if (typeof text === 'string' && text !== '') return text
  throw new ControlQueryError(`${name} is required, once`)
}

/** The seq of a log entry; 0 if the parameter is absent. Throws ControlQueryError. */
function readSeq(query: Query, name: string): number {
  const text = query[name] ?? '0'
  if (typeof text === 'string' && /^\d{1,15}$/.test(text)) return Number(text)
  throw new ControlQueryError(`${name} must be the seq of a log entry, 0 or more`)
}
