import type { FastifyReply } from 'fastify'
import { type Static, Type } from 'typebox'
import { AppError } from '../base/errors.ts'
import { oneOf } from './schemas.ts'

/**
 * Every problem that an endpoint may answer, by its code. Codes and their statuses are contract and never change.
 * The codes of AppErrors that reach a client are listed here too: such an error is answered as the problem of its
 * code, with its message as the detail.
 */
export const PROBLEMS = {
  'request.invalid': { status: 400, title: 'The request is malformed' },
  'request.unknown_parameter': { status: 400, title: 'The endpoint has no such parameter' },
  'request.doubled_parameter': { status: 400, title: 'A parameter is given more than once' },
  'request.invalid_parameter': { status: 400, title: 'A parameter is missing or invalid' },
  'request.invalid_body': { status: 400, title: 'The body is missing or invalid' },
  'request.invalid_cursor': { status: 400, title: 'The cursor does not belong to this list' },
  'request.key_in_query': { status: 400, title: 'A key must not be sent in the address' },
  'request.timeout': { status: 408, title: 'The request took too long to arrive' },
  'request.too_large': { status: 413, title: 'The body is too large' },
  'request.address_too_long': { status: 414, title: 'The address is too long' },
  'request.unsupported_type': { status: 415, title: 'The type of the body is not supported' },
  'request.unmet_expectation': { status: 417, title: 'The expectation cannot be met' },
  'request.headers_too_large': { status: 431, title: 'The headers are too large' },
  'request.no_endpoint': { status: 404, title: 'There is no such endpoint' },
  'request.no_method': { status: 405, title: 'The endpoint does not support this method' },
  'access.no_key': { status: 401, title: 'A key is required' },
  'access.mistyped_key': { status: 401, title: 'The key is malformed: its checksum is wrong' },
  'access.unknown_key': { status: 401, title: 'The key is unknown, expired or revoked' },
  'access.missing_scope': { status: 403, title: 'The key lacks the required scope' },
  'access.resellers_only': { status: 403, title: 'Only resellers may use the endpoint' },
  'access.no_such_code': { status: 410, title: 'The code for signing in is not valid any more' },
  'access.too_many_requests': { status: 429, title: 'Too many requests' },
  'watch.duplicate_list': { status: 409, title: 'A watch list of this name already exists' },
  'watch.invalid_rows': { status: 400, title: 'Some watches are invalid; nothing was changed' },
  'watch.unknown_references': {
    status: 404,
    title: 'The watch list lacks some of the references; nothing was changed',
  },
  'watch.reseller_disabled': {
    status: 403,
    title: 'The reseller is disabled, so no watch can begin',
  },
  'watch.max_delay_refused': {
    status: 409,
    title:
      'The watches need more checks than the share of the reseller allows; nothing was changed',
  },
  'changes.beyond_head': { status: 400, title: 'The number is beyond the end of the feed' },
  'changes.restored': {
    status: 410,
    title: 'The database was restored to before the number',
  },
  'changes.archived': { status: 410, title: 'Records that the request asks for are archived' },
  'history.archived': { status: 410, title: 'The history of that time is archived' },
  'routes.too_many_changes': { status: 400, title: 'The answer would have too many changes' },
  'routes.no_list': { status: 503, title: 'No list has been accepted yet' },
  'verify.passenger_rule': { status: 400, title: 'The passenger mix breaks a rule' },
  'verify.same_flight': { status: 400, title: 'The return flight is the outbound flight' },
  'verify.unknown': { status: 503, title: 'The upstream gave no usable answer about the fare' },
  'access.no_such_key': { status: 404, title: 'There is no such key' },
  'access.too_many_rotations': { status: 409, title: 'Too many keys were rotated in a day' },
  'access.scope_not_grantable': { status: 400, title: 'A key of this kind cannot have the scope' },
  'watch.duplicate_reseller': { status: 409, title: 'A reseller of this name already exists' },
  'watch.invalid_reseller_name': { status: 400, title: 'The name of the reseller is not allowed' },
  'watch.unknown_reseller': { status: 404, title: 'There is no such reseller' },
  'sync.run_not_found': { status: 404, title: 'There is no such finished run' },
  'sync.not_held': { status: 409, title: 'The run is not held' },
  'sync.snapshot_gone': { status: 409, title: 'The list of the run is no longer stored' },
  'sync.snapshot_damaged': { status: 409, title: 'The stored list of the run is damaged' },
  'sync.busy': { status: 503, title: 'Another process is working on the list; try again' },
  'delivery.no_encryption_key': {
    status: 503,
    title: 'The operator has set no ENCRYPTION_KEY, so no endpoint can be stored',
  },
  'delivery.too_many_endpoints': { status: 409, title: 'There are 20 endpoints already' },
  'delivery.endpoint_disabled': { status: 409, title: 'The endpoint is disabled' },
  'delivery.too_many_tests': {
    status: 429,
    title: 'The target was sent too many tests in the last hour',
  },
  'delivery.too_many_confirmations': {
    status: 429,
    title: 'Too many confirmations were requested in the last day',
  },
  'delivery.no_confirmation_due': {
    status: 409,
    title: 'The endpoint does not wait for a confirmation',
  },
  'delivery.no_such_link': { status: 410, title: 'The link is not valid any more' },
  'delivery.unsigned_format': { status: 409, title: 'Only webhooks have a secret' },
  'delivery.too_many_rotations': {
    status: 409,
    title: 'Three former secrets of the endpoint still sign',
  },
  not_found: { status: 404, title: 'There is no such resource' },
  'server.busy': { status: 503, title: 'Too many bodies are being read; try again' },
  'store.unavailable': { status: 503, title: 'The database is unavailable; try again' },
  internal: { status: 500, title: 'Internal error' },
} as const satisfies Record<string, { readonly status: number; readonly title: string }>

export type ProblemCode = keyof typeof PROBLEMS

export function isProblemCode(code: string): code is ProblemCode {
  return Object.hasOwn(PROBLEMS, code)
}

/** One fault of a body. */
export const ProblemFault = Type.Object({ pointer: Type.String(), detail: Type.String() })
export type ProblemFault = Static<typeof ProblemFault>

/** A problem as clients see it. */
export const ProblemSchema = Type.Object(
  {
    type: Type.String({ format: 'uri' }),
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
          'The last number of the feed in the backup that was restored. Every record after it is new to you.',
      }),
    ),
    generation: Type.Optional(Type.Integer({ description: 'The present generation of the feed.' })),
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
  const { headers: _headers, ...details } = args
  return { ...PROBLEMS[code], code, ...details }
}

const sentCodes = new WeakMap<FastifyReply, string>()

/** The code of the problem that a reply carries; undefined if it carries none. */
export function problemCodeOf(reply: FastifyReply): string | undefined {
  return sentCodes.get(reply)
}

/** Sends a problem. Members that are undefined are left out. */
export function sendProblem(reply: FastifyReply, problem: Problem): FastifyReply {
  const type = `urn:farewatch:problem:${problem.code}`
  const requestId = reply.getHeader('x-request-id')
  sentCodes.set(reply, problem.code)
  // The handler may have set caching headers for the response that it did not send.
  for (const name of ['etag', 'last-modified', 'content-disposition']) reply.removeHeader(name)
  if (reply.hasHeader('cache-control')) reply.header('cache-control', 'no-store')
  return reply
    .code(problem.status)
    .type(PROBLEM_TYPE)
    .send({ type, ...problem, requestId })
}
