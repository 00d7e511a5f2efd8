import type { Clock } from '../../base/clock.ts'
import { AppError } from '../../base/errors.ts'
import type { Scrub } from '../../base/secrets.ts'
import { quotable, snippetOf } from '../transport/body-snippet.ts'
import type { ExchangeAnswer, HttpExchange } from '../transport/http-exchange.ts'
import { errorOfAnswer } from '../transport/judge-answer.ts'
import type { ResponseHead } from '../transport/response-receiver.ts'
import type { UpstreamLimits } from '../upstream-limits.ts'

/** What one call of a probe found. Texts of the upstream in it are scrubbed and short. */
export interface ProbedCall {
  /** Such as `routes`, or `verify without a token`. */
  readonly call: string
  /** Whether the interface documents such a call, so that its failure is the upstream's. */
  readonly documented: boolean
  /** `ok`, or the code of what was wrong, such as `upstream.timeout`. */
  readonly outcome: string
  readonly status: number | null
  readonly contentType: string | null
  readonly contentEncoding: string | null
  /** Of the body, decoded, and as it travelled; null where it was not read whole. */
  readonly bytes: number | null
  readonly wireBytes: number | null
  readonly headersMs: number | null
  readonly totalMs: number | null
  /** Those about caching and rate limits, by lower-case name. */
  readonly headers: Readonly<Record<string, string>>
  /** What the interface does not show, by a short name. */
  readonly found: Readonly<Record<string, Finding>>
}

export type Finding = string | number | boolean | readonly string[]

export interface ProbeDeps {
  readonly exchange: HttpExchange
  readonly limits: UpstreamLimits
  readonly scrub: Scrub
  readonly clock: Clock
  /** Awaited before each call: its slot of the budget. */
  readonly beforeCall: (signal: AbortSignal) => Promise<void>
}

export interface ProbeCall {
  readonly call: string
  readonly documented: boolean
  readonly path: string
  readonly accept?: string
  readonly deadlineMs: number
  readonly maxBodyBytes: number
  readonly signal: AbortSignal
  readonly isGood: (head: ResponseHead) => boolean
  /** Looks into a good answer; what it throws is the call's outcome. */
  readonly read: (answer: ExchangeAnswer) => Promise<ProbedCall['found']>
}

const MAX_HEADER_CHARS = 100
const MAX_HEADERS = 20
const TOLD_HEADER =
  /^(?:etag|last-modified|cache-control|expires|age|vary|retry-after|(?:x-)?rate-?limit[\w-]*)$/

/**
 * Makes one call, whatever comes of it. Throws the signal's reason when it aborts, and bugs.
 *
 * Of an answer that is refused the shape and the beginning of the body are findings.
 */
export async function probeCall(deps: ProbeDeps, probe: ProbeCall): Promise<ProbedCall> {
  const { exchange, scrub, beforeCall } = deps
  const { call, documented, path, accept, deadlineMs, maxBodyBytes, signal } = probe
  await beforeCall(signal)
  let head: ResponseHead | undefined
  let answer: ExchangeAnswer | undefined
  let outcome = 'ok'
  let found: ProbedCall['found'] = {}
  try {
    answer = await exchange.get({
      endpoint: call,
      path,
      deadlineMs,
      maxBodyBytes,
      headers: accept === undefined ? {} : { accept },
      signal,
      wants: (seen) => {
        head = seen
        return seen.status === 200
      },
    })
    if (!probe.isGood(answer)) throw refusalOf(deps, call, answer)
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

function refusalOf({ scrub, clock, limits }: ProbeDeps, endpoint: string, answer: ExchangeAnswer) {
  const { maxRetryAfterMs } = limits
  return errorOfAnswer(answer, { endpoint, scrub, now: clock.now(), maxRetryAfterMs })
}

function headOf(head: ResponseHead | undefined, scrub: Scrub) {
  // undici reads headers as latin1: a secret that came in UTF-8 would not be recognised.
  const told = (value = '') =>
    quotable(Buffer.from(value, 'latin1').toString('utf8'), scrub, MAX_HEADER_CHARS)
  const headers = Object.entries(head?.headers ?? {}).filter(([name]) => TOLD_HEADER.test(name))
  return {
    status: head?.status ?? null,
    contentType: told(head?.headers['content-type']) || null,
    contentEncoding: told(head?.headers['content-encoding']) || null,
    headers: Object.fromEntries(
      headers.slice(0, MAX_HEADERS).map(([name, value]) => [told(name), told(value)]),
    ),
  }
}

function measuresOf(answer: ExchangeAnswer | undefined) {
  return {
    bytes: answer?.wanted === true ? answer.bytes : null,
    wireBytes: answer?.wanted === true ? answer.wireBytes : null,
    headersMs: answer === undefined ? null : Math.round(answer.headersMs),
    totalMs: answer === undefined ? null : Math.round(answer.totalMs),
  }
}

function bodyOf(answer: ExchangeAnswer, scrub: Scrub): ProbedCall['found'] {
  const body = snippetOf(answer, scrub)
  return { 'shape of the body': shapeOf(answer, scrub), ...(body === undefined ? {} : { body }) }
}

const MAX_NAMES = 10

/** @example '{"error":{"code":1}}' is told as 'JSON object: error (object)' */
function shapeOf({ chunks, complete }: ExchangeAnswer, scrub: Scrub): string {
  if (chunks.length === 0) return complete ? 'empty' : 'not read'
  let value: unknown
  try {
    value = JSON.parse(Buffer.concat(chunks).toString('utf8'))
  } catch {
    return complete ? 'no JSON' : 'not read whole'
  }
  if (kindOf(value) !== 'object') return `JSON ${kindOf(value)}`
  const fields = Object.entries(value as object).slice(0, MAX_NAMES)
  const told = fields.map(([name, field]) => `${quotable(name, scrub, 40)} (${kindOf(field)})`)
  return `JSON object: ${told.join(', ') || 'no fields'}`
}

function kindOf(value: unknown): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'list'
  return typeof value === 'string' ? 'text' : typeof value
}
