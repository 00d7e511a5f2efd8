import { type FastifyError, type FastifyInstance, type FastifyReply, fastify } from 'fastify'
import { AppError } from '../base/errors.ts'
import type { Logger } from '../base/logger.ts'
import { PROBLEM_TYPE, type Problem } from './problems.ts'

export type HttpServer = FastifyInstance

const MAX_BODY_BYTES = 1_000_000

/** A Fastify server with our manners: problems as RFC 9457, no stack in an answer, bodies capped at 1 MB. */
export function createHttpServer({ log }: { log: Logger }): FastifyInstance {
  const server = fastify({ logger: false, bodyLimit: MAX_BODY_BYTES, forceCloseConnections: true })
  server.setErrorHandler<FastifyError>((err, request, reply) => {
    const status = err.statusCode ?? 500
    if (status < 500) {
      return sendProblem(reply, { status, code: 'request.invalid', title: err.message })
    }
    log.error({ err, method: request.method, endpoint: request.routeOptions.url }, 'request failed')
    return sendProblem(reply, { status: 500, code: 'internal', title: 'Internal error' })
  })
  server.setNotFoundHandler((_request, reply) =>
    sendProblem(reply, { status: 404, code: 'not_found', title: 'No such endpoint' }),
  )
  return server
}

export function sendProblem(reply: FastifyReply, problem: Problem): FastifyReply {
  return reply
    .code(problem.status)
    .type(PROBLEM_TYPE)
    .send({ type: 'about:blank', ...problem })
}

/** Another process holds the port. */
export class PortTakenError extends AppError {
  override readonly name = 'PortTakenError'
  override readonly code = 'http.port_taken'
  override readonly retryable = false

  constructor(port: number, setting: string, options?: ErrorOptions) {
    super(`port ${port} is taken: stop what listens there, or set ${setting} to another`, options)
  }
}

export interface ListenOptions {
  readonly host: string
  /** 0 takes any free port. */
  readonly port: number
  /** The setting or flag that a person changes when the port is taken. */
  readonly setting: string
}

/** Starts listening and returns the base URL. Throws PortTakenError. */
export async function listen(
  server: FastifyInstance,
  { host, port, setting }: ListenOptions,
): Promise<string> {
  try {
    await server.listen({ host, port })
  } catch (err) {
    if ((err as NodeJS.ErrnoException).code === 'EADDRINUSE') {
      throw new PortTakenError(port, setting, { cause: err })
    }
    throw err
  }
  const [address] = server.addresses()
  const bound = typeof address === 'object' ? address.port : port
  return `http://${host.includes(':') ? `[${host}]` : host}:${bound}`
}
