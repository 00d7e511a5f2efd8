import { randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { type FastifyInstance, type FastifyReply, type FastifyRequest, fastify } from 'fastify'
import { AppError } from '../base/errors.ts'
import { type AnswerErrorsOptions, answerNoRequest, createErrorAnswer } from './answer-errors.ts'
import { addHttpRules } from './http-rules.ts'
import { problemOf, sendProblem } from './problems.ts'

export { sendProblem } from './problems.ts'
export type HttpServer = FastifyInstance

export interface HttpServerOptions extends AnswerErrorsOptions {
  /** What every answer says beside what its endpoint does; the id of the request with them. */
  readonly headers?: Readonly<Record<string, string>>
  /** How long a request may take to arrive, and how often that is looked at; for tests. */
  readonly patience?: { readonly requestMs: number; readonly lookEveryMs: number }
}

const MAX_BODY_BYTES = 1_000_000
/** A parameter of a path is an id, a code or a name of up to 200 characters, of which some are percent-encoded here. */
const MAX_PARAMETER_CHARS = 600
/** A request that has not arrived by then is given up: whole bodies are a megabyte. */
const REQUEST_TIMEOUT_MS = 30_000
/** How often Node looks for such requests; by itself it does every thirty seconds, and so gives them up to a minute. */
const LOOK_EVERY_MS = 1_000
const REQUEST_ID = /^[\w.:-]{1,64}$/

/** A Fastify server with our manners: problems as RFC 9457, no stack in an answer, bodies capped at 1 MB. */
export function createHttpServer(options: HttpServerOptions): FastifyInstance {
  const answer = createErrorAnswer(options)
  const { headers, patience } = options
  const requestTimeout = patience?.requestMs ?? REQUEST_TIMEOUT_MS
  const greet = (request: FastifyRequest, reply: FastifyReply) => {
    if (headers !== undefined) reply.headers({ 'x-request-id': request.id, ...headers })
  }
  const server = fastify({
    logger: false,
    bodyLimit: MAX_BODY_BYTES,
    requestTimeout,
    http: {
      // Of a connection too on which nothing has come yet.
      headersTimeout: requestTimeout,
      connectionsCheckingInterval: patience?.lookEveryMs ?? LOOK_EVERY_MS,
      // Node would answer for itself, and no problem.
      requireHostHeader: false,
    },
    forceCloseConnections: true,
    // While it drains a request on an open connection is answered like any other, as its last.
    return503OnClosing: false,
    routerOptions: { maxParamLength: MAX_PARAMETER_CHARS },
    genReqId: (request) => requestIdOf(request),
    frameworkErrors: (err, request, reply) => {
      greet(request, reply)
      void answer(err, request, reply)
    },
    clientErrorHandler: answerNoRequest,
  })
  server.addHook('onRequest', async (request, reply) => greet(request, reply))
  addHttpRules(server)
  server.setErrorHandler(answer)
  server.setNotFoundHandler((_request, reply) =>
    sendProblem(reply, problemOf('request.no_endpoint')),
  )
  return server
}

/** The caller's own id of the request where it is one that may be logged and sent back, else a new one. */
function requestIdOf({ headers }: IncomingMessage): string {
  const given = headers['x-request-id']
  return typeof given === 'string' && REQUEST_ID.test(given) ? given : randomUUID()
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
