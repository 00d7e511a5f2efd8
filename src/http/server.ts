import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import {
  type FastifyError,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  fastify,
} from 'fastify'
import { AppError, messageOf } from '../base/errors.ts'
import type { Logger } from '../base/logger.ts'
import { PROBLEM_TYPE, type Problem } from './problems.ts'

export type HttpServer = FastifyInstance

const MAX_BODY_BYTES = 1_000_000

/** How soon a client may ask again whose answer needed a store that is away. */
const RETRY_AFTER_SECONDS = 5

export interface HttpServerOptions {
  readonly log: Logger
  /** Whether an error says that a store is away: a 503 then, and no bug of ours. */
  readonly isUnavailable?: (thrown: unknown) => boolean
}

/** A Fastify server with our manners: problems as RFC 9457, no stack in an answer, bodies capped at 1 MB. */
export function createHttpServer({ log, isUnavailable }: HttpServerOptions): FastifyInstance {
  const answer = (thrown: unknown, request: FastifyRequest, reply: FastifyReply) => {
    const status = requestFault(thrown)
    if (status !== undefined) {
      return sendProblem(reply, { status, code: 'request.invalid', title: messageOf(thrown) })
    }
    if (isUnavailable?.(thrown) === true) {
      reply.header('retry-after', RETRY_AFTER_SECONDS)
      const title = 'The database is away; try again'
      return sendProblem(reply, { status: 503, code: 'store.unavailable', title })
    }
    const endpoint = request.routeOptions.url
    log.error({ err: thrown, method: request.method, endpoint }, 'request failed')
    return sendProblem(reply, { status: 500, code: 'internal', title: 'Internal error' })
  }
  const server = fastify({
    logger: false,
    bodyLimit: MAX_BODY_BYTES,
    forceCloseConnections: true,
    frameworkErrors: (err, request, reply) => void answer(err, request, reply),
    clientErrorHandler: answerNoRequest,
  })
  server.setErrorHandler(answer)
  server.setNotFoundHandler((_request, reply) =>
    sendProblem(reply, { status: 404, code: 'not_found', title: 'No such endpoint' }),
  )
  return server
}

/** The status of an error that is the request's fault; of ours and of strangers nothing is told. */
function requestFault(thrown: unknown): number | undefined {
  if (!(thrown instanceof Error)) return undefined
  const { statusCode } = thrown as Partial<FastifyError>
  return statusCode !== undefined && statusCode >= 400 && statusCode < 500 ? statusCode : undefined
}

const CONNECTION_FAULTS: Readonly<Record<string, number>> = {
  ERR_HTTP_REQUEST_TIMEOUT: 408,
  HPE_HEADER_OVERFLOW: 431,
}

/** What came is no request that an endpoint could answer: headers without end, or no HTTP. */
function answerNoRequest(err: NodeJS.ErrnoException, socket: Socket): void {
  if (socket.writable && err.code !== 'ECONNRESET') {
    const status = CONNECTION_FAULTS[err.code ?? ''] ?? 400
    const title = STATUS_CODES[status] ?? ''
    const body = JSON.stringify({ type: 'about:blank', status, code: 'request.invalid', title })
    socket.write(
      `HTTP/1.1 ${status} ${title}\r\nconnection: close\r\ncontent-type: ${PROBLEM_TYPE}\r\n` +
        `content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
    )
  }
  socket.destroy(err)
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

/** The system lets us not have the port: those below 1024 are for the privileged. */
export class PortForbiddenError extends AppError {
  override readonly name = 'PortForbiddenError'
  override readonly code = 'http.port_forbidden'
  override readonly retryable = false

  constructor(port: number, setting: string, options?: ErrorOptions) {
    super(`port ${port} is not for this user: set ${setting} to one above 1023`, options)
  }
}

export interface ListenOptions {
  readonly host: string
  /** 0 takes any free port. */
  readonly port: number
  /** The setting or flag that a person changes when the port is taken. */
  readonly setting: string
}

/** Starts listening and returns the base URL. Throws PortTakenError and PortForbiddenError. */
export async function listen(
  server: FastifyInstance,
  { host, port, setting }: ListenOptions,
): Promise<string> {
  try {
    await server.listen({ host, port })
  } catch (err) {
    const { code } = err as NodeJS.ErrnoException
    if (code === 'EADDRINUSE') throw new PortTakenError(port, setting, { cause: err })
    if (code === 'EACCES') throw new PortForbiddenError(port, setting, { cause: err })
    throw err
  }
  const [address] = server.addresses()
  const bound = typeof address === 'object' ? address.port : port
  return `http://${host.includes(':') ? `[${host}]` : host}:${bound}`
}
