import type { Scrub } from '../../platform/base/secrets.ts'
import type { Validators } from '../route-list.ts'
import type { ResponseHead } from './response-receiver.ts'

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
