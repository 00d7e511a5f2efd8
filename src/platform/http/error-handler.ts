import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import { AppError } from '../base/errors.ts'
import type { Logger } from '../base/logger.ts'
import {
  isProblemCode,
  PROBLEM_TYPE,
  type ProblemCode,
  ProblemError,
  problemOf,
  sendProblem,
} from './problems.ts'

/** The Retry-After of a problem that has no delay of its own. */
const RETRY_AFTER_SECONDS = 5

export interface ErrorHandlerOptions {
  readonly log: Logger
  /** Whether an error means that a store is unavailable. It is then answered with 503 and not logged as a bug. */
  readonly isUnavailable?: (thrown: unknown) => boolean
}

/** Answers every thrown value with a problem. A fault of ours is logged, and the client learns nothing of its cause. */
export function createErrorHandler({ log, isUnavailable }: ErrorHandlerOptions) {
  return (thrown: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply => {
    if (thrown instanceof ProblemError) {
      reply.headers({ ...thrown.args.headers })
      return sendProblem(reply, problemOf(thrown.code, thrown.args))
    }
    if (thrown instanceof AppError && isProblemCode(thrown.code)) {
      return sendFeatureProblem(reply, thrown, thrown.code)
    }
    const code = clientFaultCode(thrown)
    // Without a detail: Fastify's messages quote the address, which may hold a key.
    if (code !== undefined) return sendProblem(reply, problemOf(code))
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
  const { retryAfterMs } = err as { retryAfterMs?: unknown }
  if (typeof retryAfterMs === 'number') reply.header('retry-after', Math.ceil(retryAfterMs / 1000))
  else if (err.retryable) reply.header('retry-after', RETRY_AFTER_SECONDS)
  return sendProblem(reply, problemOf(code, { detail: err.message }))
}

const CODES: Readonly<Record<number, ProblemCode>> = {
  404: 'request.no_endpoint',
  408: 'request.timeout',
  413: 'request.too_large',
  414: 'request.address_too_long',
  415: 'request.unsupported_type',
  431: 'request.headers_too_large',
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
export function handleClientError(err: NodeJS.ErrnoException, socket: Socket): void {
  if (socket.writable && err.code !== 'ECONNRESET') {
    const problem = problemOf(CONNECTION_CODES[err.code ?? ''] ?? 'request.invalid')
    const body = JSON.stringify({ type: `urn:farewatch:problem:${problem.code}`, ...problem })
    socket.write(
      `HTTP/1.1 ${problem.status} ${STATUS_CODES[problem.status]}\r\nconnection: close\r\n` +
        `content-type: ${PROBLEM_TYPE}\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
    )
  }
  socket.destroy(err)
}
