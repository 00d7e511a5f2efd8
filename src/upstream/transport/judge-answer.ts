import type { AppError } from '../../base/errors.ts'
import type { Scrub } from '../../base/secrets.ts'
import {
  UpstreamAuthError,
  UpstreamContractError,
  UpstreamRateLimitedError,
  UpstreamRedirectError,
  UpstreamStatusError,
} from '../upstream-errors.ts'
import { quotable, snippetOf } from './body-snippet.ts'
import type { ExchangeAnswer } from './http-exchange.ts'
import type { ResponseHead } from './response-receiver.ts'
import { retryAfterMs } from './retry-after.ts'

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
  if (status === 401 || status === 403 || isLoginPage(answer)) return new UpstreamAuthError(facts)
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

const HTML_TYPE = /^(?:text\/html|application\/xhtml\+xml)\s*(?:;|$)/i
/** Bounded, or a page of nothing but beginnings of fields would be searched from each of them to its end. */
const PASSWORD_FIELD = /<input\b[^<>]{0,500}?\stype\s*=\s*["']?password\b/i
const LOGIN_PATH = /(?:^|[/_.-])(?:log-?in|sign-?in|auth)(?:[/_.-]|$)/i

/** Some upstreams answer a credential that they do not know as they would a person: with a page to log in. */
function isLoginPage({ status, headers, chunks }: ExchangeAnswer): boolean {
  if (status >= 300 && status < 400) {
    const target = URL.parse(headers.location ?? '', 'http://upstream.invalid')
    return target !== null && LOGIN_PATH.test(target.pathname)
  }
  if (status !== 200 || !HTML_TYPE.test(headers['content-type'] ?? '')) return false
  return PASSWORD_FIELD.test(Buffer.concat(chunks).toString('latin1'))
}

function waitOf({ headers }: ResponseHead, { now, maxRetryAfterMs }: JudgeContext) {
  return retryAfterMs(headers['retry-after'], {
    now,
    answeredAt: headers.date,
    maxMs: maxRetryAfterMs,
  })
}
