import type { Clock } from '../../base/clock.ts'
import type { CallRecord } from '../call-record.ts'
import { UpstreamNetworkError } from '../upstream-errors.ts'
import type { HttpExchange } from './http-exchange.ts'
import { retryAfterMs } from './retry-after.ts'

/** The exchange for one call: notes in its record how a connection failed and what a refusal said about waiting. */
export function notedExchange(
  exchange: HttpExchange,
  record: CallRecord,
  { clock, maxRetryAfterMs }: { clock: Clock; maxRetryAfterMs: number },
): HttpExchange {
  return {
    close: exchange.close,
    async get(request) {
      try {
        const answer = await exchange.get(request)
        if (answer.status === 429 || answer.status === 503) {
          const waitMs = retryAfterMs(answer.headers['retry-after'], {
            now: clock.now(),
            answeredAt: answer.headers.date,
            maxMs: maxRetryAfterMs,
          })
          if (waitMs !== undefined) record.retryAfterMs = waitMs
        }
        return answer
      } catch (err) {
        if (err instanceof UpstreamNetworkError) record.reason = err.reason
        throw err
      }
    },
  }
}
