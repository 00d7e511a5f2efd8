import { createHash } from 'node:crypto'
import type { RouteListName } from '../../platform/base/kinds.ts'
import type { Scrub } from '../../platform/base/secrets.ts'
import type { CallRecord } from '../attempt.ts'
import type { Provider } from '../provider.ts'
import type { RouteListBody, Validators } from '../route-list.ts'
import { snippetOf } from '../transport/body-snippet.ts'
import { errorOfAnswer } from '../transport/call-errors.ts'
import type { HttpAnswer, HttpExchange, UpstreamLimits } from '../transport/http-exchange.ts'
import type { ResponseHead } from '../transport/response-receiver.ts'
import { UpstreamContractError } from '../upstream-errors.ts'
import { faultOfStart } from './cut-array.ts'

export interface FetchDeps {
  readonly provider: Provider
  readonly exchange: HttpExchange
  readonly limits: UpstreamLimits
  readonly scrub: Scrub
}

export interface FetchRouteListOptions {
  readonly signal: AbortSignal
  /** The validators of the list that the caller holds. */
  readonly validators: Validators
  /** Called as the body arrives, with the number of decoded bytes so far. */
  readonly onProgress?: ((bytes: number) => void) | undefined
}

interface ListCall extends FetchRouteListOptions {
  readonly list: RouteListName
  readonly record: CallRecord
}

/** The outcome of a call whose answer is a 304. */
const NOT_MODIFIED = 'upstream.not_modified'

/**
 * Downloads a list unless it is unchanged, and hashes it as it arrives. Returns null if the upstream answers the
 * validators with a 304. Without validators it requests the whole list and never returns null.
 *
 * Throws the errors of upstream-errors.ts.
 */
export async function fetchRouteListIfModified(
  { provider, exchange, limits, scrub }: FetchDeps,
  { list, signal, validators, onProgress, record }: ListCall,
): Promise<RouteListBody | null> {
  const conditions = conditionsOf(validators)
  const request = provider.listRequest(list)
  const received = startHash()
  const answer = await exchange.get({
    ...request,
    endpoint: list,
    deadlineMs: limits.listDeadlineMs,
    maxBodyBytes: limits.maxBodyBytes,
    headers: { ...request.headers, ...conditions },
    signal,
    onChunk: (chunk) => {
      const bytes = received.add(chunk)
      onProgress?.(bytes)
    },
  })
  if (answer.status === 304 && Object.keys(conditions).length > 0) {
    record.outcome = NOT_MODIFIED
    return null
  }
  // An unrequested 304 is refused here, because it is not a 200.
  if (!answer.wanted) throw errorOfAnswer(answer, { endpoint: list, scrub })
  const chunks = provider.convertList?.(answer.chunks, list) ?? answer.chunks
  assertList(list, { ...answer, chunks }, scrub)
  return {
    chunks,
    ...(chunks === answer.chunks ? received : hashOf(chunks)).end(),
    downloadMs: answer.totalMs,
    validators: validatorsOf(answer, scrub),
  }
}

/** The size and the hash of bytes in order. */
function startHash() {
  const hash = createHash('sha256')
  let bytes = 0
  return {
    add: (chunk: Uint8Array) => {
      hash.update(chunk)
      bytes += chunk.length
      return bytes
    },
    end: () => ({ bytes, contentHash: hash.digest('hex') }),
  }
}

function hashOf(chunks: readonly Uint8Array[]) {
  const hash = startHash()
  chunks.forEach(hash.add)
  return hash
}

/** The reader would refuse the body too. Here its beginning can be quoted, such as `{"error":"maintenance"}`. */
function assertList(endpoint: RouteListName, { chunks, status }: HttpAnswer, scrub: Scrub): void {
  const where = chunks[0] ? faultOfStart(chunks[0]) : 'the body is empty'
  if (where === undefined) return
  const snippet = snippetOf({ chunks: chunks.slice(0, 1), complete: chunks.length === 1 }, scrub)
  throw new UpstreamContractError({ endpoint, status, where, snippet })
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
