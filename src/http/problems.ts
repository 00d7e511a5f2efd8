import type { FastifyReply } from 'fastify'
import { AppError } from '../base/errors.ts'
import { PROBLEMS, type ProblemCode } from './problem-codes.ts'

/** One RFC 9457 problem, as every endpoint of ours answers it. */
export interface Problem {
  readonly status: number
  /** Stable, for machines. */
  readonly code: string
  readonly title: string
  readonly detail?: string | undefined
  /** The parameter at fault, as it stands in the path, the query or the headers. */
  readonly parameter?: string | undefined
  /** The place at fault in the body, as a JSON pointer. */
  readonly pointer?: string | undefined
  /** Where a body of many rows has several faults: the first of them. */
  readonly errors?: readonly ProblemFault[] | undefined
  /** Where a code has several: which one, for machines. */
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

/** What a request is told instead of an answer. All but the headers are shown: nothing secret belongs there. */
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

/** The whole problem of a code. */
export function problemOf(code: ProblemCode, args: ProblemArgs = {}): Problem {
  const { detail, parameter, pointer, errors, reason } = args
  return { ...PROBLEMS[code], code, detail, parameter, pointer, errors, reason }
}

/** Answers with a problem; members that are undefined are left out. */
export function sendProblem(reply: FastifyReply, problem: Problem): FastifyReply {
  const type = `urn:farewatch:problem:${problem.code}`
  const requestId = reply.getHeader('x-request-id')
  // A problem belongs to one request: whatever its handler said of caching was said of another answer.
  for (const name of ['etag', 'last-modified', 'content-disposition']) reply.removeHeader(name)
  if (reply.hasHeader('cache-control')) reply.header('cache-control', 'no-store')
  return reply
    .code(problem.status)
    .type(PROBLEM_TYPE)
    .send({ type, ...problem, requestId })
}
