import { hash } from 'node:crypto'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Answer, OperationName } from '../answer.ts'
import type { FaultLayer } from '../faults/fault-layer.ts'
import type { LoggedRequest, RequestLog, RequestOutcome } from './request-log.ts'
import type { SandboxClock } from './sandbox-clock.ts'

export type Query = Readonly<Record<string, unknown>>

/** Sends an answer or its faulty form, now or later, and returns at once what the request log records. */
type Deliver = (delivery: Delivery) => Pick<LoggedRequest, 'outcome' | 'fault'>

interface Delivery {
  readonly endpoint: OperationName
  /** The correct answer. */
  readonly answer: Answer
  /** When the request arrived, in real time. */
  readonly real: Date
  readonly request: FastifyRequest
  readonly reply: FastifyReply
}

export function createDeliver(faults: FaultLayer): Deliver {
  const addVersion = createVersions()
  return ({ endpoint, answer: correct, real, request, reply }) => {
    const fault = faults.trigger({ endpoint, answer: correct, now: real, url: request.url })
    const { answer: chosen, delayMs = 0, send, statusSent = true } = fault ?? { answer: correct }
    const versioned = chosen.versioned ? addVersion(endpoint, chosen, real) : chosen
    const isKnown = versioned.versioned && !send && clientHas(versioned, request)
    const answer = isKnown ? { ...versioned, status: 304, body: '' } : versioned
    afterDelay(reply, delayMs, () => {
      if (send) send(reply.hijack().raw, answer)
      else sendWhole(reply, answer)
    })
    const available = answer.available === undefined ? {} : { available: answer.available }
    const outcome: RequestOutcome = { status: statusSent ? answer.status : null, ...available }
    return { outcome, fault: fault?.name ?? null }
  }
}

/** Sends nothing if the client closes the connection first. */
function afterDelay(reply: FastifyReply, delayMs: number, send: () => void): void {
  if (delayMs === 0) {
    send()
    return
  }
  const timer = setTimeout(send, delayMs)
  reply.raw.once('close', () => clearTimeout(timer))
}

function sendWhole(reply: FastifyReply, { status, headers = {}, contentType, body }: Answer): void {
  reply.code(status).headers(headers)
  // A Content-Length of 0 would describe the list that the client has.
  if (status === 304) reply.send()
  else reply.type(contentType).send(body)
}

/**
 * assumption: the lists have ETag and Last-Modified. The ETag is a hash of the body. A list counts as modified when
 * this sandbox first served it.
 *
 * A Last-Modified has whole seconds. It is rounded up and sent only after that second: otherwise two lists of one
 * second would share it, and a client would get 304 for the second list.
 */
function createVersions(): (endpoint: OperationName, answer: Answer, real: Date) => Answer {
  const served = new Map<OperationName, { readonly etag: string; readonly modifiedMs: number }>()
  const hashes = new WeakMap<Buffer, string>()
  const hashOf = (body: string | Buffer): string => {
    if (typeof body === 'string') return hash('sha256', body, 'base64url')
    // A list from a file is one buffer of up to 160 MB that never changes.
    const known = hashes.get(body) ?? hash('sha256', body, 'base64url')
    hashes.set(body, known)
    return known
  }
  return (endpoint, answer, real) => {
    const etag = `"${hashOf(answer.body).slice(0, 22)}"`
    const before = served.get(endpoint)
    const now = real.getTime()
    const modifiedMs = before?.etag === etag ? before.modifiedMs : Math.ceil(now / 1000) * 1000
    served.set(endpoint, { etag, modifiedMs })
    const modified =
      modifiedMs <= now ? { 'last-modified': new Date(modifiedMs).toUTCString() } : {}
    return { ...answer, headers: { ...answer.headers, etag, ...modified } }
  }
}

/**
 * Whether the client has this version. If both conditions are sent, only the ETag counts; an invalid date is no
 * condition. Source: RFC 9110, 13.1.2, 13.1.3, 13.2.2.
 */
function clientHas({ headers }: Answer, request: FastifyRequest): boolean {
  const { 'if-none-match': ifNoneMatch, 'if-modified-since': ifModifiedSince } = request.headers
  if (ifNoneMatch !== undefined) {
    const tags = ifNoneMatch.split(',').map((tag) => tag.trim().replace(/^W\//, ''))
    return tags.includes('*') || tags.includes(String(headers?.etag))
  }
  // A missing or invalid date is NaN, and a comparison with NaN is false.
  return Date.parse(ifModifiedSince ?? '') >= Date.parse(String(headers?.['last-modified']))
}

export interface OperationDeps {
  readonly clock: SandboxClock
  readonly requestLog: RequestLog
  readonly deliver: Deliver
}

export interface Operation {
  readonly name: OperationName
  /** If unset, GET. */
  readonly method?: 'GET' | 'POST'
  readonly path: string
  /** The correct answer at an instant of the world. */
  readonly answer: (request: FastifyRequest, worldNow: Date) => Answer
}

/** Serves an operation of the interface. The answer, the faults and the log use one instant. */
export function serveOperation(
  server: FastifyInstance,
  { clock, requestLog, deliver }: OperationDeps,
  { name, method = 'GET', path, answer }: Operation,
): void {
  const handler = (request: FastifyRequest, reply: FastifyReply): void => {
    const real = clock.realNow()
    const worldNow = clock.worldTimeAt(real)
    const correct = answer(request, worldNow)
    const delivered = deliver({ endpoint: name, answer: correct, real, request, reply })
    requestLog.record({
      realMs: real.getTime(),
      worldTime: worldNow.toISOString(),
      endpoint: name,
      question: correct.question ?? null,
      ...delivered,
    })
  }
  server.route({ method, url: path, handler })
}
