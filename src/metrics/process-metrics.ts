import { Counter, Gauge, Histogram, type Registry } from 'prom-client'

/** The process and its connections to the stores. prom-client measures the runtime. */
export function processMetrics(registers: Registry[]) {
  return {
    buildInfo: new Gauge({
      name: 'farewatch_build_info',
      help: 'Always 1: the version, the Node.js version and the command of this process.',
      labelNames: ['version', 'node', 'role'],
      registers,
    }),
    clockSkew: new Gauge({
      name: 'farewatch_clock_skew_seconds',
      help: 'The clock of a store (database or queue) minus the clock of this process.',
      labelNames: ['store'],
      registers,
    }),
    databaseUp: new Gauge({
      name: 'farewatch_db_up',
      help: '1 if the database answered this process during this scrape.',
      registers,
    }),
    databasePing: new Gauge({
      name: 'farewatch_db_ping_seconds',
      help: 'Time that the answer took, including the wait for a connection; the timeout if there was none.',
      registers,
    }),
    databaseConnections: new Gauge({
      name: 'farewatch_db_pool_connections',
      help: 'Connections of the pool of this process, by state: busy, idle.',
      labelNames: ['state'],
      registers,
    }),
    databaseConnectionsMax: new Gauge({
      name: 'farewatch_db_pool_max_connections',
      help: 'The size limit of the pool.',
      registers,
    }),
    databaseWaiting: new Gauge({
      name: 'farewatch_db_pool_waiting',
      help: 'Queries that wait for a connection of the pool.',
      registers,
    }),
  }
}

/** From an answer out of memory to a request that waited for a slot of the budget. */
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
