import { AppError } from '../../platform/base/errors.ts'
import type { Scrub } from '../../platform/base/secrets.ts'
import { quotable, snippetOf } from '../transport/body-snippet.ts'
import { errorOfAnswer } from '../transport/call-errors.ts'
import type { HttpAnswer, HttpExchange, HttpRequest } from '../transport/http-exchange.ts'
import type { ResponseHead } from '../transport/response-receiver.ts'

/** The result of one call of a probe. Texts of the upstream are scrubbed and short. */
export interface ProbedCall {
  /** The name of the call, such as `routes` or `verify without a token`. */
  readonly call: string
  /** Whether the interface documents this call. Then its failure is a failure of the upstream. */
  readonly documented: boolean
  /** `ok`, or the code of the failure, such as `upstream.timeout`. */
  readonly outcome: string
  readonly status: number | null
  readonly contentType: string | null
  readonly contentEncoding: string | null
  /** Size of the decoded body. Null if it was not read to its end. */
  readonly bytes: number | null
  /** Size of the encoded body. Null if it was not read to its end. */
  readonly wireBytes: number | null
  readonly headersMs: number | null
  readonly totalMs: number | null
  /** The headers about caching and rate limits, by lower-case name. */
  readonly headers: Readonly<Record<string, string>>
  /** Facts that the interface does not document, by a short name. */
  readonly found: Readonly<Record<string, Finding>>
}

export type Finding = string | number | boolean | readonly string[]

export interface ProbeDeps {
  readonly exchange: HttpExchange
  readonly scrub: Scrub
  /** Awaited before each call, to take a slot of the budget. */
  readonly beforeCall: (signal: AbortSignal) => Promise<void>
}

export interface ProbeCall
  extends Pick<HttpRequest, 'path' | 'deadlineMs' | 'maxBodyBytes' | 'signal'> {
  readonly call: string
  readonly documented: boolean
  readonly isGood: (head: ResponseHead) => boolean
  /** Reads a good answer. An error that it throws is the call's outcome. */
  readonly read: (answer: HttpAnswer) => Promise<ProbedCall['found']> | ProbedCall['found']
}

const MAX_HEADER_CHARS = 100
const MAX_HEADERS = 20
const SHOWN_HEADER =
  /^(?:etag|last-modified|cache-control|expires|age|vary|retry-after|(?:x-)?rate-?limit[\w-]*)$/

/**
 * Makes one call. Every result is a finding. Throws only the signal's reason when it aborts, and bugs of ours.
 *
 * The findings of a refused answer are the shape and the beginning of its body.
 */
export async function probeCall(deps: ProbeDeps, probe: ProbeCall): Promise<ProbedCall> {
  const { exchange, scrub, beforeCall } = deps
  const { call, documented, path, deadlineMs, maxBodyBytes, signal } = probe
  await beforeCall(signal)
  let head: ResponseHead | undefined
  let answer: HttpAnswer | undefined
  let outcome = 'ok'
  let found: ProbedCall['found'] = {}
  try {
    answer = await exchange.get({
      endpoint: call,
      path,
      deadlineMs,
      maxBodyBytes,
      signal,
      wants: (seen) => {
        head = seen
        return seen.status === 200
      },
    })
    if (!probe.isGood(answer)) throw errorOfAnswer(answer, { endpoint: call, scrub })
    found = await probe.read(answer)
  } catch (err) {
    signal.throwIfAborted()
    if (!(err instanceof AppError)) throw err
    outcome = err.code
    found =
      answer === undefined || probe.isGood(answer) ? { error: err.message } : bodyOf(answer, scrub)
  }
  return { call, documented, outcome, ...headOf(head, scrub), ...measuresOf(answer), found }
}

function headOf(head: ResponseHead | undefined, scrub: Scrub) {
  // undici decodes headers as latin1. The scrubber would not recognize a secret that was sent in UTF-8.
  const shown = (value = '') =>
    quotable(Buffer.from(value, 'latin1').toString('utf8'), scrub, MAX_HEADER_CHARS)
  const headers = Object.entries(head?.headers ?? {}).filter(([name]) => SHOWN_HEADER.test(name))
  return {
    status: head?.status ?? null,
    contentType: shown(head?.headers['content-type']) || null,
    contentEncoding: shown(head?.headers['content-encoding']) || null,
    headers: Object.fromEntries(
      headers.slice(0, MAX_HEADERS).map(([name, value]) => [shown(name), shown(value)]),
    ),
  }
}

function measuresOf(answer: HttpAnswer | undefined) {
  return {
    bytes: answer?.wanted === true ? answer.bytes : null,
    wireBytes: answer?.wanted === true ? answer.wireBytes : null,
    headersMs: answer === undefined ? null : Math.round(answer.headersMs),
    totalMs: answer === undefined ? null : Math.round(answer.totalMs),
  }
}

function bodyOf(answer: HttpAnswer, scrub: Scrub): ProbedCall['found'] {
  const body = snippetOf(answer, scrub)
  return { 'shape of the body': shapeOf(answer, scrub), ...(body === undefined ? {} : { body }) }
}

const MAX_NAMES = 10

/** @example '{"error":{"code":1}}' has the shape 'JSON object: error (object)' */
function shapeOf({ chunks, complete }: HttpAnswer, scrub: Scrub): string {
  if (chunks.length === 0) return complete ? 'empty' : 'not read'
  let value: unknown
  try {
    value = JSON.parse(Buffer.concat(chunks).toString('utf8'))
  } catch {
    return complete ? 'not JSON' : 'not read to its end'
  }
  if (kindOf(value) !== 'object') return `JSON ${kindOf(value)}`
  const fields = Object.entries(value as object).slice(0, MAX_NAMES)
  const shown = fields.map(([name, field]) => `${quotable(name, scrub, 40)} (${kindOf(field)})`)
  return `JSON object: ${shown.join(', ') || 'no fields'}`
}

function kindOf(value: unknown): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'list'
  return typeof value === 'string' ? 'text' : typeof value
}
