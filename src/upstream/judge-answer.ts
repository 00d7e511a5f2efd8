import type { AppError } from '../base/errors.ts'
import type { Scrub } from '../base/secrets.ts'
import { quotable, snippetOf } from './body-snippet.ts'
import type { ExchangeAnswer, ResponseHead } from './http-exchange.ts'
import { retryAfterMs } from './retry-after.ts'
import {
  UpstreamAuthError,
  UpstreamContractError,
  UpstreamRateLimitedError,
  UpstreamRedirectError,
  UpstreamStatusError,
} from './upstream-errors.ts'

export interface JudgeContext {
  readonly endpoint: string
  readonly scrub: Scrub
  readonly now: Date
  readonly maxRetryAfterMs: number
}

const JSON_TYPE = /^application\/(?:[\w.!#$&^+-]+\+)?json\s*(?:;|$)/i
const MAX_TYPE_CHARS = 60

/** A 200 of JSON: the only answer whose body is worth reading. A missing content type is not one. */
export function isJsonAnswer({ status, headers }: ResponseHead): boolean {
  return status === 200 && JSON_TYPE.test(headers['content-type'] ?? '')
}

/** The error that an answer stands for when `isJsonAnswer` refused it. */
export function errorOfAnswer(answer: ExchangeAnswer, context: JudgeContext): AppError {
  const { status } = answer
  const facts = {
    endpoint: context.endpoint,
    status,
    snippet: snippetOf(answer, context.scrub),
  }
  if (status === 401 || status === 403) return new UpstreamAuthError(facts)
  if (status === 429) {
    return new UpstreamRateLimitedError({ ...facts, retryAfterMs: waitOf(answer, context) })
  }
  if (status >= 400) return new UpstreamStatusError(facts)
  if (status >= 300 && status !== 304) return new UpstreamRedirectError(facts)
  if (status !== 200) return new UpstreamContractError({ ...facts, where: 'the status is not 200' })
  const type = quotable(answer.headers['content-type'] ?? '', context.scrub, MAX_TYPE_CHARS)
  const where = type ? `the content type is ${type}` : 'the content type is missing'
  return new UpstreamContractError({ ...facts, where })
}

function waitOf({ headers }: ResponseHead, { now, maxRetryAfterMs }: JudgeContext) {
  return retryAfterMs(headers['retry-after'], {
    now,
    answeredAt: headers.date,
    maxMs: maxRetryAfterMs,
  })
}
