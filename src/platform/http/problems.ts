import type { FastifyReply } from 'fastify'
import { type Static, Type } from 'typebox'
import { AppError } from '../base/errors.ts'
import { MISSING, PROBLEMS, type ProblemCode, problemPage } from './problem-codes.ts'
import { oneOf } from './schemas.ts'

/** One fault of a body. */
export const ProblemFault = Type.Object({ pointer: Type.String(), detail: Type.String() })
export type ProblemFault = Static<typeof ProblemFault>

/** A problem as clients see it. */
export const ProblemSchema = Type.Object(
  {
    type: Type.String({
      format: 'uri-reference',
      description: 'A page that explains the code: cause and remedy.',
    }),
    title: Type.String(),
    status: Type.Integer(),
    code: oneOf(Object.keys(PROBLEMS), {
      title: 'ProblemCode',
      description: 'Stable, for machines.',
    }),
    detail: Type.Optional(Type.String({ description: 'What is wrong with this request.' })),
    parameter: Type.Optional(
      Type.String({ description: 'The name of the path, query or header parameter at fault.' }),
    ),
    pointer: Type.Optional(
      Type.String({
        description:
          'The place at fault in the body, as a JSON pointer. In CSV the line and the column: `/3/departs_on`.',
      }),
    ),
    missing: Type.Optional(oneOf(MISSING, { description: 'Of `not_found`: what was looked for.' })),
    reason: Type.Optional(
      Type.String({
        description: 'Distinguishes the causes of one code. Stable, for machines.',
      }),
    ),
    first: Type.Optional(
      Type.Integer({ description: 'The first number that the feed still has.' }),
    ),
    continueAfter: Type.Optional(
      Type.Integer({
        description:
          'The last of your numbers that the feed has since a restore. Every record after it is new to you.',
      }),
    ),
    errors: Type.Optional(
      Type.Array(ProblemFault, { description: 'The first faults of a body with many rows.' }),
    ),
    requestId: Type.Optional(Type.String({ description: 'As in the header x-request-id.' })),
  },
  { title: 'Problem', description: 'A problem as RFC 9457 defines it.' },
)

type Members = Static<typeof ProblemSchema>

type OfCode = Pick<Members, 'status' | 'code' | 'title'>
/** The members of a problem that differ between requests. */
type Details = {
  readonly [N in Exclude<keyof Members, keyof OfCode | 'type' | 'requestId'>]?:
    | Members[N]
    | undefined
}
export type Problem = OfCode & Details

export const PROBLEM_TYPE = 'application/problem+json'

interface ProblemArgs extends Details {
  readonly headers?: Readonly<Record<string, string>>
}

/** Answers the request with a problem. The client sees all of it, so it must not contain secrets. */
export class ProblemError extends AppError {
  override readonly name = 'ProblemError'
  override readonly code: ProblemCode
  readonly args: ProblemArgs

  constructor(code: ProblemCode, args: ProblemArgs = {}, options?: ErrorOptions) {
    super(args.detail ?? PROBLEMS[code].title, options)
    this.code = code
    this.args = args
  }
}

/** The problem of a code, with the status and title of that code. */
export function problemOf(code: ProblemCode, args: ProblemArgs = {}): Problem {
  const { headers: _headers, ...details } = args
  const { status, title } = PROBLEMS[code]
  return { status, title, code, ...details }
}

const sentCodes = new WeakMap<FastifyReply, string>()

/** The code of the problem that a reply carries; undefined if it carries none. */
export function problemCodeOf(reply: FastifyReply): string | undefined {
  return sentCodes.get(reply)
}

/** Sends a problem. Members that are undefined are left out. */
export function sendProblem(reply: FastifyReply, problem: Problem): FastifyReply {
  const type = problemPage(problem.code)
  const requestId = reply.getHeader('x-request-id')
  sentCodes.set(reply, problem.code)
  // The handler may have set caching headers for the response that it did not send.
  for (const name of ['etag', 'last-modified', 'content-disposition', 'location'])
    reply.removeHeader(name)
  if (reply.hasHeader('cache-control')) reply.header('cache-control', 'no-store')
  return reply
    .code(problem.status)
    .type(PROBLEM_TYPE)
    .send({ type, ...problem, requestId })
}
