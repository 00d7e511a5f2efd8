import { createHash } from 'node:crypto'
import type { Clock } from '../base/clock.ts'
import type { Scrub } from '../base/secrets.ts'
import { snippetOf } from './body-snippet.ts'
import type { CallRecord } from './call-record.ts'
import { faultOfStart } from './cut-array.ts'
import type { ExchangeAnswer, HttpExchange } from './http-exchange.ts'
import { errorOfAnswer, isJsonAnswer } from './judge-answer.ts'
import type { RouteListBody, RouteListName } from './route-list.ts'
import { UpstreamContractError } from './upstream-errors.ts'
import type { UpstreamLimits } from './upstream-limits.ts'

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

const LIST_PATHS: Record<RouteListName, string> = {
  routes: '/api/v1/data/routes',
  'with-availability': '/api/v1/data/routes/with-availability',
}

/** Downloads a list whole, hashing it as it comes. Throws every error of upstream-errors.ts. */
export async function fetchRouteList(
  { exchange, limits, scrub, clock }: FetchDeps,
  { list, record, signal, onProgress }: FetchRouteListOptions & ListCall,
): Promise<RouteListBody> {
  const hash = createHash('sha256')
  const answer = await exchange.get({
    endpoint: list,
    path: LIST_PATHS[list],
    deadlineMs: limits.listDeadlineMs,
    maxBodyBytes: limits.maxBodyBytes,
    signal,
    wants: (head) => {
      record.status = head.status
      return isJsonAnswer(head)
    },
    onChunk: (chunk) => {
      hash.update(chunk)
      record.bytes += chunk.length
      onProgress?.(record.bytes)
    },
  })
  if (!answer.wanted) {
    const { maxRetryAfterMs } = limits
    throw errorOfAnswer(answer, { endpoint: list, scrub, now: clock.now(), maxRetryAfterMs })
  }
  assertList(answer, { list, scrub })
  const { chunks, bytes, totalMs: downloadMs } = answer
  return { chunks, bytes, contentHash: hash.digest('hex'), downloadMs }
}

interface ListCall {
  readonly list: RouteListName
  readonly record: CallRecord
}

/** The reader would refuse it too; here its beginning can be quoted, such as `{"error":"maintenance"}`. */
function assertList(
  { chunks, status }: ExchangeAnswer,
  { list, scrub }: { list: RouteListName; scrub: Scrub },
): void {
  const where = chunks[0] ? faultOfStart(chunks[0]) : 'the body is empty'
  if (!where) return
  const beginning = { chunks: chunks.slice(0, 1), complete: chunks.length === 1 }
  throw new UpstreamContractError({
    endpoint: list,
    status,
    where,
    snippet: snippetOf(beginning, scrub),
  })
}
