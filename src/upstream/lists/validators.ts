import type { Scrub } from '../../base/secrets.ts'
import type { ResponseHead } from '../transport/response-receiver.ts'

/** What an upstream gives to ask by whether its list is still the same; null where it gave none that we would send. */
export interface Validators {
  /** An entity tag as it came, quotes and `W/` included. */
  readonly etag: string | null
  /** A date as it came. */
  readonly lastModified: string | null
}

const MAX_ETAG_CHARS = 200
/** Quoted, as RFC 9110, 8.8.3 has it; a bare `*` would ask for any list at all. */
const ETAG = /^(?:W\/)?"[\x21\x23-\x7e]*"$/
/** The one form of a date that RFC 9110, 5.6.7 lets a sender make. */
const HTTP_DATE = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/

/**
 * The validators of an answer. One that is too long, of another form or that holds a secret of ours is none: what is
 * sent back must be exactly what came, so that it is never cleaned.
 */
export function validatorsOf({ headers }: Pick<ResponseHead, 'headers'>, scrub: Scrub): Validators {
  const { etag, 'last-modified': lastModified } = headers
  return {
    etag: isEtag(etag) && scrub(etag) === etag ? etag : null,
    lastModified: isDate(lastModified) ? lastModified : null,
  }
}

/** The headers that ask for a list only if it has changed; empty where there is nothing to ask by. */
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
  return typeof text === 'string' && HTTP_DATE.test(text) && !Number.isNaN(Date.parse(text))
}
