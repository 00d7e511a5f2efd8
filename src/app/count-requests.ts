import type { Answered } from '../http/api.ts'
import type { Metrics } from '../metrics/metrics.ts'
import { API_OPERATIONS } from './api-operations.ts'

/** Counts the requests of the API in the metrics; every operation begins at 0. */
export function requestCounter({
  apiRequests,
  apiDuration,
}: Pick<Metrics, 'apiRequests' | 'apiDuration'>): (answered: Answered) => void {
  for (const { id: operation, answer } of API_OPERATIONS) {
    apiRequests.inc({ operation, status: String(answer.status ?? 200) }, 0)
    apiDuration.zero({ operation })
  }
  return ({ operation, status, durationMs }) => {
    apiRequests.inc({ operation, status: String(status) })
    apiDuration.observe({ operation }, durationMs / 1000)
  }
}
