import type { FastifyReply } from 'fastify'
import { AppError } from '../base/errors.ts'
import { PROBLEMS, type ProblemCode } from './problem-codes.ts'

/** A problem as RFC 9457 defines it. */
export interface Problem {
  readonly status: number
  /** Stable, for machines. */
  readonly code: string
  readonly title: string
  readonly detail?: string | undefined
  /** The name of the path, query or header parameter at fault. */
  readonly parameter?: string | undefined
  /** The place at fault in the body, as a JSON pointer. */
  readonly pointer?: string | undefined
  /** The first faults of a body with many rows. */
  readonly errors?: readonly ProblemFault[] | undefined
  /** Distinguishes the causes of one code, for machines. */
  readonly reason?: string | undefined
}

/** One fault of a body. */
export interface ProblemFault {
  readonly pointer: string
  readonly detail: string
}

export const PROBLEM_TYPE = 'application/problem+json'

export interface ProblemArgs
  extends Pick<Problem, 'detail' | 'parameter' | 'pointer' | 'errors' | 'reason'> {
  readonly headers?: Readonly<Record<string, string>>
}

/** Answers the request with a problem. The client sees all of it, so it must not contain secrets. */
export class ProblemError extends AppError {
  override readonly name = 'ProblemError'
  override readonly code: ProblemCode
  override readonly retryable = false
  readonly args: ProblemArgs

  constructor(code: ProblemCode, args: ProblemArgs = {}, options?: ErrorOptions) {
    super(args.detail ?? PROBLEMS[code].title, options)
    this.code = code
    this.args = args
  }
}

/** The problem of a code, with the status and title of that code. */
export function problemOf(code: ProblemCode, args: ProblemArgs = {}): Problem {
  const { detail, parameter, pointer, errors, reason } = args
  return { ...PROBLEMS[code], code, detail, parameter, pointer, errors, reason }
}

/** Sends a problem. Members that are undefined are left out. */
export function sendProblem(reply: FastifyReply, problem: Problem): FastifyReply {
  const type = `urn:farewatch:problem:${problem.code}`
  const requestId = reply.getHeader('x-request-id')
  // The handler may have set caching headers for the response that it did not send.
  for (const name of ['etag', 'last-modified', 'content-disposition']) reply.removeHeader(name)
  if (reply.hasHeader('cache-control')) reply.header('cache-control', 'no-store')
  return reply
    .code(problem.status)
    .type(PROBLEM_TYPE)
    .send({ type, ...problem, requestId })
}
