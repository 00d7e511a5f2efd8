import type { Scrub } from '../../base/secrets.ts'
import type { Validators } from '../route-list.ts'
import type { ResponseHead } from './response-receiver.ts'

export interface RetryAfterContext {
  readonly now: Date
  /** The answer's own Date header. With it a date in Retry-After needs no agreement of clocks. */
  readonly answeredAt: string | undefined
  readonly maxMs: number
}

/** The three date forms of HTTP end in GMT or a year. Other texts that Date.parse would guess at are refused. */
const READABLE_DATE = /^[A-Z][a-z]{2,8},? .*\d{2}:\d{2}:\d{2}( GMT| \d{4})$/

/**
 * The wait that a Retry-After header asks for, in milliseconds, between 0 and `maxMs`.
 *
 * Undefined if the header is missing or unreadable. Source: RFC 9110, 10.2.3.
 * @example retryAfterMs('120', { now, answeredAt: undefined, maxMs: 900_000 }) // 120_000
 */
export function retryAfterMs(
  header: string | undefined,
  { now, answeredAt, maxMs }: RetryAfterContext,
): number | undefined {
  const text = header?.trim() ?? ''
  // Some servers send 1e9, which is a number of seconds too.
  const waitMs = /^\d/.test(text)
    ? Number(text) * 1000
    : dateMs(text) - (dateMs(answeredAt) || now.getTime())
  return Number.isNaN(waitMs) ? undefined : Math.min(maxMs, Math.max(0, Math.ceil(waitMs)))
}

function dateMs(text: string | undefined): number {
  if (text === undefined || !READABLE_DATE.test(text)) return Number.NaN
  return Date.parse(text.endsWith('GMT') ? text : `${text} GMT`)
}

const MAX_ETAG_CHARS = 200
/** Quoted, as in RFC 9110, 8.8.3. A bare `*` would match any list. */
const ETAG = /^(?:W\/)?"[\x21\x23-\x7e]*"$/
/** The only date form that RFC 9110, 5.6.7 allows a sender. */
const SENDABLE_DATE = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/

/**
 * The validators of an answer. A validator that is too long, has another form or holds a secret of ours becomes null.
 * Validators are never cleaned, because we must send back exactly what the upstream sent.
 */
export function validatorsOf({ headers }: Pick<ResponseHead, 'headers'>, scrub: Scrub): Validators {
  const { etag, 'last-modified': lastModified } = headers
  return {
    etag: isEtag(etag) && scrub(etag) === etag ? etag : null,
    lastModified: isDate(lastModified) ? lastModified : null,
  }
}

/** The headers that request a list only if it has changed. Empty without validators. */
export function conditionsOf({ etag, lastModified }: Validators): Record<string, string> {
  return {
    ...(isEtag(etag) ? { 'if-none-match': etag } : {}),
    ...(isDate(lastModified) ? { 'if-modified-since': lastModified } : {}),
  }
}

function isEtag(text: string | null | undefined): text is string {
  return typeof text === 'string' && text.length <= MAX_ETAG_CHARS && ETAG.test(text)
}

function isDate(text: string | null | undefined): text is string {
  return typeof text === 'string' && SENDABLE_DATE.test(text) && !Number.isNaN(Date.parse(text))
}
