import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http'
import { Server, type Socket } from 'node:net'
import {
  type FastifyError,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  fastify,
} from 'fastify'
import { AppError } from '../base/errors.ts'
import type { Logger } from '../base/logger.ts'
import { isProblemCode, type Missing, type ProblemCode, problemPage } from './problem-codes.ts'
import { PROBLEM_TYPE, ProblemError, problemOf, sendProblem } from './problems.ts'

export type HttpServer = FastifyInstance

export interface HttpServerOptions extends ErrorHandlerOptions {
  /** Headers of every response. If present, responses also carry the request's id. */
  readonly headers?: Readonly<Record<string, string>>
  /** How long a request may take to arrive, and how often Node checks that. For tests. */
  readonly timeouts?: { readonly requestMs: number; readonly checkEveryMs: number }
}

const MAX_BODY_BYTES = 1_000_000
/** A path parameter is an id, a code or a name of up to 200 characters, some of them percent-encoded. */
const MAX_PARAMETER_CHARS = 600
/** How long headers and body together may take to arrive. */
const REQUEST_TIMEOUT_MS = 30_000
/** Node's own default is 30 s, which would let a late request live for up to a minute. */
const CHECK_TIMEOUTS_EVERY_MS = 1_000
const REQUEST_ID = /^[\w.:-]{1,64}$/

/** A Fastify server that answers errors as RFC 9457 problems, shows no stack, and caps bodies at 1 MB. */
export function createHttpServer(options: HttpServerOptions): FastifyInstance {
  const handleError = createErrorHandler(options)
  const { headers } = options
  const setHeaders = (request: FastifyRequest, reply: FastifyReply) => {
    if (headers !== undefined) reply.headers({ 'x-request-id': request.id, ...headers })
  }
  const server = fastify({
    logger: false,
    bodyLimit: MAX_BODY_BYTES,
    ...nodeOptions(options),
    forceCloseConnections: true,
    // While the server drains, requests on open connections are still answered.
    return503OnClosing: false,
    routerOptions: { maxParamLength: MAX_PARAMETER_CHARS },
    genReqId: (request) => requestIdOf(request),
    frameworkErrors: (err, request, reply) => {
      setHeaders(request, reply)
      void handleError(err, request, reply)
    },
    clientErrorHandler: handleClientError,
  })
  // Without a listener Node answers 417 in plain text. assertExpectation answers with a problem.
  server.server.on('checkExpectation', (...args) => server.server.emit('request', ...args))
  server.addHook('onRequest', async (request, reply) => {
    setHeaders(request, reply)
    assertHost(request.raw)
    assertExpectation(request.raw)
  })
  server.setErrorHandler(handleError)
  server.setNotFoundHandler((_request, reply) =>
    sendProblem(reply, problemOf('not_found', { missing: 'operation' })),
  )
  return server
}

function nodeOptions({ timeouts }: HttpServerOptions) {
  const requestTimeout = timeouts?.requestMs ?? REQUEST_TIMEOUT_MS
  return {
    requestTimeout,
    http: {
      // Also ends connections on which nothing has arrived.
      headersTimeout: requestTimeout,
      connectionsCheckingInterval: timeouts?.checkEveryMs ?? CHECK_TIMEOUTS_EVERY_MS,
      // Node would answer in plain text. assertHost answers with a problem.
      requireHostHeader: false,
    },
  }
}

/** Refuses two Host headers, because a proxy may have checked the other one. HTTP/1.0 did not require the header. */
function assertHost({ rawHeaders, httpVersion }: IncomingMessage): void {
  const hosts = rawHeaders.filter((name, i) => i % 2 === 0 && name.toLowerCase() === 'host').length
  if (hosts === 1 || (hosts === 0 && httpVersion === '1.0')) return
  throw new ProblemError('request.invalid', {
    parameter: 'Host',
    detail: 'the header Host is needed, once',
  })
}

/** Accepts the expectation that Node can meet, by Node's own pattern. HTTP/1.0 had no expectations. */
function assertExpectation({ headers: { expect }, httpVersion }: IncomingMessage): void {
  if (expect === undefined || httpVersion === '1.0') return
  if (/(?:^|\W)100-continue(?:$|\W)/i.test(expect)) return
  throw new ProblemError('request.unmet_expectation', {
    parameter: 'Expect',
    detail: 'nothing but 100-continue may be expected',
  })
}

/** The client's own request id if it is safe to log and to send back, else a new one. */
function requestIdOf({ headers }: IncomingMessage): string {
  const given = headers['x-request-id']
  return typeof given === 'string' && REQUEST_ID.test(given) ? given : randomUUID()
}

export class PortTakenError extends AppError {
  override readonly name = 'PortTakenError'
  override readonly code = 'http.port_taken'

  constructor(port: number, setting: string, options?: ErrorOptions) {
    super(`port ${port} is taken: stop what listens there, or set ${setting} to another`, options)
  }
}

/** Ports below 1024 need a privileged user. */
class PortForbiddenError extends AppError {
  override readonly name = 'PortForbiddenError'
  override readonly code = 'http.port_forbidden'

  constructor(port: number, setting: string, options?: ErrorOptions) {
    super(`port ${port} is not for this user: set ${setting} to one above 1023`, options)
  }
}

function portError(err: unknown, port: number, setting: string): unknown {
  const { code } = err as NodeJS.ErrnoException
  if (code === 'EADDRINUSE') return new PortTakenError(port, setting, { cause: err })
  return code === 'EACCES' ? new PortForbiddenError(port, setting, { cause: err }) : err
}

export interface ListenOptions {
  readonly host: string
  /** 0 takes any free port. */
  readonly port: number
  /** The setting or flag that the error message names when the port cannot be used. */
  readonly setting: string
}

/** Throws PortTakenError and PortForbiddenError now instead of after the work that comes before `listen`. */
export async function assertPortUsable({ host, port, setting }: ListenOptions): Promise<void> {
  const server = new Server()
  try {
    server.listen({ host, port })
    await once(server, 'listening')
  } catch (err) {
    throw portError(err, port, setting)
  }
  server.close()
  await once(server, 'close')
}

/** Starts listening and returns the base URL. Throws PortTakenError and PortForbiddenError. */
export async function listen(
  server: FastifyInstance,
  { host, port, setting }: ListenOptions,
): Promise<string> {
  try {
    await server.listen({ host, port })
  } catch (err) {
    throw portError(err, port, setting)
  }
  const [address] = server.addresses()
  const bound = typeof address === 'object' ? address.port : port
  return `http://${host.includes(':') ? `[${host}]` : host}:${bound}`
}

/**
 * When the server closes, it accepts no new connection and waits until the requests in progress are answered. Requests
 * on open connections are still answered, each as the last of its connection. After `drainMs` the rest is cut off.
 *
 * Add it after every preClose hook that ends long-running requests, because this hook waits for them.
 */
export function drainOnClose(fastify: FastifyInstance, drainMs: number): void {
  const { server } = fastify
  const inProgress = new Set<ServerResponse>()
  server.on('request', (_request, response: ServerResponse) => {
    inProgress.add(response)
    // Also emitted when the client disconnects.
    response.once('close', () => inProgress.delete(response))
  })
  fastify.addHook('preClose', async () => {
    // Fastify itself stops listening only after this hook. The method of net.Server is used because the one of
    // http.Server treats connections with an ended but unsent response as idle and cuts them off.
    if (server.listening) Server.prototype.close.call(server)
    const signal = AbortSignal.timeout(drainMs)
    while (inProgress.size > 0 && !signal.aborted) {
      const [response] = inProgress
      if (response !== undefined) await once(response, 'close', { signal }).catch(() => undefined)
    }
  })
}

/** The Retry-After of a problem that has no delay of its own. */
const RETRY_AFTER_SECONDS = 5

interface ErrorHandlerOptions {
  readonly log: Logger
  /** Whether an error means that a store is unavailable. It is then answered with 503 and not logged as a bug. */
  readonly isUnavailable?: (thrown: unknown) => boolean
}

/** Answers every thrown value with a problem. A fault of ours is logged, and the client learns nothing of its cause. */
function createErrorHandler({ log, isUnavailable }: ErrorHandlerOptions) {
  return (thrown: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply => {
    if (thrown instanceof ProblemError) {
      reply.headers({ ...thrown.args.headers })
      return sendProblem(reply, problemOf(thrown.code, thrown.args))
    }
    if (thrown instanceof AppError && isProblemCode(thrown.code)) {
      return sendFeatureProblem(reply, thrown, thrown.code)
    }
    const code = clientFaultCode(thrown)
    // Without Fastify's own messages: they quote the address, which may hold a key.
    if (code !== undefined) return sendProblem(reply, problemOf(code, { detail: DETAILS[code] }))
    if (isUnavailable?.(thrown) === true) {
      reply.header('retry-after', RETRY_AFTER_SECONDS)
      return sendProblem(reply, problemOf('store.unavailable'))
    }
    const endpoint = request.routeOptions.url
    log.error(
      { err: thrown, method: request.method, endpoint, requestId: request.id },
      'request failed',
    )
    return sendProblem(reply, problemOf('internal'))
  }
}

function sendFeatureProblem(reply: FastifyReply, err: AppError, code: ProblemCode): FastifyReply {
  const { retryAfterMs, missing } = err as { retryAfterMs?: unknown; missing?: Missing }
  if (typeof retryAfterMs === 'number') reply.header('retry-after', Math.ceil(retryAfterMs / 1000))
  else if (err.retryable) reply.header('retry-after', RETRY_AFTER_SECONDS)
  return sendProblem(reply, problemOf(code, { detail: err.message, missing }))
}

const CODES: Readonly<Record<number, ProblemCode>> = {
  408: 'request.timeout',
  413: 'request.too_large',
  414: 'request.address_too_long',
  415: 'request.unsupported_type',
  431: 'request.headers_too_large',
}

const DETAILS: { readonly [C in ProblemCode]?: string } = {
  'request.unsupported_type':
    'send "Content-Type: application/json", or text/csv where the operation takes it',
}

/** The code of an error that Fastify blames on the client; undefined for any other. */
function clientFaultCode(thrown: unknown): ProblemCode | undefined {
  if (!(thrown instanceof Error)) return undefined
  const { statusCode } = thrown as Partial<FastifyError>
  if (statusCode === undefined || !(statusCode >= 400 && statusCode < 500)) return undefined
  return CODES[statusCode] ?? 'request.invalid'
}

const CONNECTION_CODES: Readonly<Record<string, ProblemCode>> = {
  ERR_HTTP_REQUEST_TIMEOUT: 'request.timeout',
  HPE_HEADER_OVERFLOW: 'request.headers_too_large',
}

/** Answers what never became a request: bytes that are not HTTP, headers that are too large, a timeout. */
function handleClientError(err: NodeJS.ErrnoException, socket: Socket): void {
  if (socket.writable && err.code !== 'ECONNRESET') {
    const problem = problemOf(CONNECTION_CODES[err.code ?? ''] ?? 'request.invalid')
    const body = JSON.stringify({ type: problemPage(problem.code), ...problem })
    socket.write(
      `HTTP/1.1 ${problem.status} ${STATUS_CODES[problem.status]}\r\nconnection: close\r\n` +
        `content-type: ${PROBLEM_TYPE}\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
    )
  }
  socket.destroy(err)
}
