import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import { AppError } from '../base/errors.ts'
import type { Logger } from '../base/logger.ts'
import { isProblemCode, type ProblemCode } from './problem-codes.ts'
import { PROBLEM_TYPE, ProblemError, problemOf, sendProblem } from './problems.ts'

/** How soon a client may ask again whose answer needed a store that is away. */
const RETRY_AFTER_SECONDS = 5

export interface AnswerErrorsOptions {
  readonly log: Logger
  /** Whether an error says that a store is away: a 503 then, and no bug of ours. */
  readonly isUnavailable?: (thrown: unknown) => boolean
}

/** Answers whatever was thrown as a problem. Of what is no fault of the request nothing is told, and it is logged. */
export function createErrorAnswer({ log, isUnavailable }: AnswerErrorsOptions) {
  return (thrown: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply => {
    if (thrown instanceof ProblemError) {
      reply.headers({ ...thrown.args.headers })
      return sendProblem(reply, problemOf(thrown.code, thrown.args))
    }
    if (thrown instanceof AppError && isProblemCode(thrown.code)) {
      return sendFeatureProblem(reply, thrown, thrown.code)
    }
    const fault = requestFault(thrown)
    // Without its message: Fastify's quote the address, and with it a key.
    if (fault !== undefined) return sendProblem(reply, problemOf(fault))
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

/** The code of an error that is the request's fault, as Fastify says it. */
function requestFault(thrown: unknown): ProblemCode | undefined {
  if (!(thrown instanceof Error)) return undefined
  const { statusCode } = thrown as Partial<FastifyError>
  if (statusCode === undefined || !(statusCode >= 400 && statusCode < 500)) return undefined
  return CODES[statusCode] ?? 'request.invalid'
}

const CONNECTION_FAULTS: Readonly<Record<string, ProblemCode>> = {
  ERR_HTTP_REQUEST_TIMEOUT: 'request.timeout',
  HPE_HEADER_OVERFLOW: 'request.headers_too_large',
}

/** What came is no request that an endpoint could answer: headers without end, or no HTTP. */
export function answerNoRequest(err: NodeJS.ErrnoException, socket: Socket): void {
  if (socket.writable && err.code !== 'ECONNRESET') {
    const problem = problemOf(CONNECTION_FAULTS[err.code ?? ''] ?? 'request.invalid')
    const body = JSON.stringify({ type: `urn:farewatch:problem:${problem.code}`, ...problem })
    socket.write(
      `HTTP/1.1 ${problem.status} ${STATUS_CODES[problem.status]}\r\nconnection: close\r\n` +
        `content-type: ${PROBLEM_TYPE}\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
    )
  }
  socket.destroy(err)
}
