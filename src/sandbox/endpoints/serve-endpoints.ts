import { hash } from 'node:crypto'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Answer, EndpointName } from '../answer.ts'
import type { FaultLayer } from '../faults/fault-layer.ts'
import type { FaultName } from '../faults/fault-rule.ts'
import type { RequestLog, RequestOutcome } from './request-log.ts'
import type { SandboxClock } from './sandbox-clock.ts'

/**
 * Brings an answer to the wire, now or later, and says at once what the request log shall hold. Everything that
 * an upstream can do wrong (another status, half a body, no body at all) is another way of delivering an
 * honest answer.
 */
export type Deliver = (delivery: Delivery) => Delivered

export interface Delivery {
  readonly endpoint: EndpointName
  readonly answer: Answer
  /** When the request came in, in real time. */
  readonly real: Date
  readonly request: FastifyRequest
  readonly reply: FastifyReply
}

export interface Delivered {
  readonly outcome: RequestOutcome
  readonly fault: FaultName | null
}

/** Delivers honestly whatever no fault strikes. */
export function createDeliver(faults: FaultLayer): Deliver {
  const markVersion = createMarkVersion()
  return ({ endpoint, answer: honest, real, request, reply }) => {
    const struck = faults.strike({ endpoint, answer: honest, now: real, url: request.url })
    const { answer: told, delayMs = 0, send, statusSent = true } = struck ?? { answer: honest }
    const marked = told.versioned ? markVersion(endpoint, told, real) : told
    const known = marked.versioned && !send && isKnown(marked, conditionOf(request))
    const answer = known ? notModified(marked) : marked
    bring(reply, { delayMs }, () => {
      if (send) send(reply.hijack().raw, answer)
      else sendWhole(reply, answer)
    })
    const { available } = answer
    const status = statusSent ? answer.status : null
    return {
      outcome: { status, ...(available === undefined ? {} : { available }) },
      fault: struck?.name ?? null,
    }
  }
}

function conditionOf({ headers }: FastifyRequest) {
  return {
    ifNoneMatch: headers['if-none-match'],
    ifModifiedSince: headers['if-modified-since'],
  }
}

/** Nothing is left running for a client that has gone. */
function bring(reply: FastifyReply, { delayMs }: { delayMs: number }, send: () => void): void {
  if (delayMs === 0) {
    send()
    return
  }
  const timer = setTimeout(send, delayMs)
  reply.raw.once('close', () => clearTimeout(timer))
}

function sendWhole(reply: FastifyReply, { status, headers = {}, contentType, body }: Answer): void {
  reply.code(status).headers(headers)
  // A length of 0 would be said of the list that the client has.
  if (status === 304) reply.send()
  else reply.type(contentType).send(body)
}

export interface EndpointDeps {
  readonly clock: SandboxClock
  readonly requestLog: RequestLog
  readonly deliver: Deliver
}

export interface Endpoint {
  readonly name: EndpointName
  /** GET unless given. */
  readonly method?: 'GET' | 'POST'
  readonly path: string
  /** The honest answer for an instant of the world. */
  readonly answer: (request: FastifyRequest, worldNow: Date) => Answer
}

/** Serves an endpoint of the interface: one instant for the whole request, then the answer, then the log. */
export function serveEndpoint(
  server: FastifyInstance,
  { clock, requestLog, deliver }: EndpointDeps,
  { name, method = 'GET', path, answer }: Endpoint,
): void {
  const handler = (request: FastifyRequest, reply: FastifyReply): void => {
    const real = clock.realNow()
    const worldNow = clock.worldTimeAt(real)
    const honest = answer(request, worldNow)
    const { outcome, fault } = deliver({ endpoint: name, answer: honest, real, request, reply })
    requestLog.record({
      realMs: real.getTime(),
      worldTime: worldNow.toISOString(),
      endpoint: name,
      question: honest.question ?? null,
      outcome,
      fault,
    })
  }
  server.route({ method, url: path, handler })
}

/** Gives list answers their validators. */
export type MarkVersion = (endpoint: EndpointName, answer: Answer, real: Date) => Answer

/**
 * assumption: the lists offer ETag and Last-Modified. The ETag is a hash of the body; the list counts as
 * modified when this sandbox first said it so.
 *
 * A Last-Modified has whole seconds. It is rounded up and offered only once that second has come: two lists
 * of one second would otherwise share it, and a client would be told of the second one that it has it already.
 */
export function createMarkVersion(): MarkVersion {
  const said = new Map<EndpointName, { readonly etag: string; readonly modifiedMs: number }>()
  const hashes = new WeakMap<Buffer, string>()
  const hashOf = (body: string | Buffer): string => {
    if (typeof body === 'string') return hash('sha256', body, 'base64url')
    // A list of a file is one buffer of up to 160 MB, for ever.
    const known = hashes.get(body) ?? hash('sha256', body, 'base64url')
    hashes.set(body, known)
    return known
  }
  return (endpoint, answer, real) => {
    const etag = `"${hashOf(answer.body).slice(0, 22)}"`
    const before = said.get(endpoint)
    const now = real.getTime()
    const modifiedMs = before?.etag === etag ? before.modifiedMs : Math.ceil(now / 1000) * 1000
    said.set(endpoint, { etag, modifiedMs })
    const modified =
      modifiedMs <= now ? { 'last-modified': new Date(modifiedMs).toUTCString() } : {}
    return { ...answer, headers: { ...answer.headers, etag, ...modified } }
  }
}

export interface Condition {
  readonly ifNoneMatch: string | undefined
  readonly ifModifiedSince: string | undefined
}

/**
 * Whether who asks has this version already. Where both conditions are sent, the ETag alone counts; a date
 * that is none is no condition. Source: RFC 9110, 13.1.2, 13.1.3, 13.2.2.
 */
export function isKnown({ headers }: Answer, condition: Condition): boolean {
  const { ifNoneMatch, ifModifiedSince } = condition
  if (ifNoneMatch !== undefined) {
    const tags = ifNoneMatch.split(',').map((tag) => tag.trim().replace(/^W\//, ''))
    return tags.includes('*') || tags.includes(String(headers?.etag))
  }
  // Not every list has a date; a comparison with NaN is false.
  return Date.parse(ifModifiedSince ?? '') >= Date.parse(String(headers?.['last-modified']))
}

/** What is answered to who has this version: its validators, and no body. */
export function notModified(answer: Answer): Answer {
  return { ...answer, status: 304, body: '' }
}
