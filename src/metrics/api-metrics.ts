import { Counter, Histogram, type Registry } from 'prom-client'

/** From an answer of memory to a question that waited for its slot of the budget. */
const API_BUCKETS_S = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30]

export function apiMetrics(registers: Registry[]) {
  return {
    apiRequests: new Counter({
      name: 'farewatch_api_requests_total',
      help: 'Requests that the API answered; operation "none" is the documentation and unknown paths.',
      labelNames: ['operation', 'status'],
      registers,
    }),
    apiDuration: new Histogram({
      name: 'farewatch_api_request_duration_seconds',
      help: 'Duration of API requests, until the last byte was handed to the operating system.',
      labelNames: ['operation'],
      buckets: API_BUCKETS_S,
      registers,
    }),
  }
}
