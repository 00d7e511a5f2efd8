import { hash } from 'node:crypto'
import type { Answer } from '../answer.ts'
import type { EndpointName } from '../endpoint-name.ts'

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
