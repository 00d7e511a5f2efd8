import { createHash, type Hash } from 'node:crypto'
import type { Clock } from '../../base/clock.ts'
import type { Scrub } from '../../base/secrets.ts'
import type { CallRecord } from '../call-record.ts'
import type { RouteListBody, RouteListName } from '../route-list.ts'
import { snippetOf } from '../transport/body-snippet.ts'
import type { ExchangeAnswer, HttpExchange } from '../transport/http-exchange.ts'
import { errorOfAnswer, isJsonAnswer } from '../transport/judge-answer.ts'
import { UpstreamContractError } from '../upstream-errors.ts'
import type { UpstreamLimits } from '../upstream-limits.ts'
import { faultOfStart } from './cut-array.ts'
import { CSV_ACCEPT, CSV_ENDPOINT, faultOfCsvStart, isCsvAnswer } from './routes-csv.ts'
import { conditionsOf, type Validators, validatorsOf } from './validators.ts'

export interface FetchDeps {
  readonly exchange: HttpExchange
  readonly limits: UpstreamLimits
  readonly scrub: Scrub
  readonly clock: Clock
}

export interface FetchRouteListOptions {
  readonly signal: AbortSignal
  /** Called as the body arrives, with its decoded bytes so far. */
  readonly onProgress?: ((bytes: number) => void) | undefined
}

export interface ConditionalFetchOptions extends FetchRouteListOptions {
  /** Of the list that the caller holds. */
  readonly validators: Validators
}

interface ListCall extends FetchRouteListOptions {
  readonly list: RouteListName
  readonly record: CallRecord
}

const PATH = '/api/v1/data/routes'
export const LIST_PATHS = {
  routes: PATH,
  'with-availability': `${PATH}/with-availability`,
  csv: `${PATH}/csv`,
} as const satisfies Readonly<Record<RouteListName | typeof CSV_ENDPOINT, string>>

/** The outcome of a call whose answer is that nothing has changed. */
const NOT_MODIFIED = 'upstream.not_modified'

/** Downloads a list whole, hashing it as it comes. Throws every error of upstream-errors.ts. */
export async function fetchRouteList(deps: FetchDeps, call: ListCall): Promise<RouteListBody> {
  const download = await fetchList(deps, { ...call, endpoint: call.list })
  return bodyOf(deps, { endpoint: call.list, download, faultOf: faultOfStart })
}

/**
 * The same, unless the upstream says by a 304 that the list is still the one with these validators: then null.
 *
 * Without validators it asks for the list itself, and is never null.
 */
export async function fetchRouteListIfModified(
  deps: FetchDeps,
  call: ConditionalFetchOptions & ListCall,
): Promise<RouteListBody | null> {
  const conditions = conditionsOf(call.validators)
  const download = await fetchList(deps, { ...call, endpoint: call.list, conditions })
  if (download.answer.status === 304 && Object.keys(conditions).length > 0) {
    call.record.outcome = NOT_MODIFIED
    return null
  }
  return bodyOf(deps, { endpoint: call.list, download, faultOf: faultOfStart })
}

/** Downloads the routes as CSV, unread: `readRoutesCsv` reads them. Throws as `fetchRouteList` does. */
export async function fetchRoutesCsv(
  deps: FetchDeps,
  call: Omit<ListCall, 'list'>,
): Promise<RouteListBody> {
  const endpoint = CSV_ENDPOINT
  const download = await fetchList(deps, { ...call, endpoint })
  return bodyOf(deps, { endpoint, download, faultOf: faultOfCsvStart })
}

interface Download {
  readonly answer: ExchangeAnswer
  readonly hash: Hash
}

async function fetchList(
  { exchange, limits }: FetchDeps,
  { endpoint, record, signal, onProgress, conditions }: ListRequest,
): Promise<Download> {
  const isCsv = endpoint === CSV_ENDPOINT
  const hash = createHash('sha256')
  const answer = await exchange.get({
    endpoint,
    path: LIST_PATHS[endpoint],
    deadlineMs: limits.listDeadlineMs,
    maxBodyBytes: limits.maxBodyBytes,
    headers: { ...(isCsv ? { accept: CSV_ACCEPT } : {}), ...conditions },
    signal,
    wants: (head) => {
      record.status = head.status
      return isCsv ? isCsvAnswer(head) : isJsonAnswer(head)
    },
    onChunk: (chunk) => {
      hash.update(chunk)
      record.bytes += chunk.length
      onProgress?.(record.bytes)
    },
  })
  return { answer, hash }
}

interface ListRequest extends Omit<ListCall, 'list'> {
  readonly endpoint: keyof typeof LIST_PATHS
  readonly conditions?: Readonly<Record<string, string>>
}

interface Judged {
  readonly endpoint: string
  readonly download: Download
  readonly faultOf: (bytes: Uint8Array) => string | undefined
}

/** A 304 that nobody asked for is refused here, for it is no 200. */
function bodyOf(
  { limits: { maxRetryAfterMs }, scrub, clock }: FetchDeps,
  { endpoint, download: { answer, hash }, faultOf }: Judged,
): RouteListBody {
  if (!answer.wanted) {
    throw errorOfAnswer(answer, { endpoint, scrub, now: clock.now(), maxRetryAfterMs })
  }
  const { chunks, bytes, status, totalMs: downloadMs } = answer
  const where = chunks[0] ? faultOf(chunks[0]) : 'the body is empty'
  if (where !== undefined) {
    // The reader would refuse it too; here its beginning can be quoted, such as `{"error":"maintenance"}`.
    const snippet = snippetOf({ chunks: chunks.slice(0, 1), complete: chunks.length === 1 }, scrub)
    throw new UpstreamContractError({ endpoint, status, where, snippet })
  }
  const validators = validatorsOf(answer, scrub)
  return { chunks, bytes, contentHash: hash.digest('hex'), downloadMs, validators }
}
