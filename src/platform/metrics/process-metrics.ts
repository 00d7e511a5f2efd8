import type { Declare } from './declare.ts'

/** The process and its connections to the stores. prom-client measures the runtime. */
export function processMetrics({ gauge }: Declare) {
  return {
    buildInfo: gauge(
      'farewatch_build_info',
      'Always 1: the version, the Node.js version and the command of this process.',
      ['version', 'node', 'role'],
    ),
    clockSkew: gauge(
      'farewatch_clock_skew_seconds',
      'The clock of a store (database or queue) minus the clock of this process.',
      ['store'],
    ),
    redisUp: gauge(
      'farewatch_redis_up',
      '1 if Redis answered this process during this scrape; absent if the queue is in PostgreSQL, or if the process has no worker.',
    ),
    databaseUp: gauge(
      'farewatch_db_up',
      '1 if the database answered this process during this scrape.',
    ),
    databasePing: gauge(
      'farewatch_db_ping_seconds',
      'Time that the answer took, including the wait for a connection; the timeout if there was none.',
    ),
    databaseConnections: gauge(
      'farewatch_db_pool_connections',
      'Connections of the pools of this process, by state: busy, idle.',
      ['state'],
    ),
    databaseConnectionsMax: gauge(
      'farewatch_db_pool_max_connections',
      'The size limit of the pools together.',
    ),
    databaseWaiting: gauge(
      'farewatch_db_pool_waiting',
      'Queries that wait for a connection of a pool.',
    ),
  }
}

/** The range covers an answer from memory and a request that waited for a slot of the budget. */
const API_BUCKETS_S = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30]

export function apiMetrics({ counter, histogram }: Declare) {
  return {
    apiRequests: counter(
      'farewatch_api_requests_total',
      'Requests that the API answered; operation "none" is the documentation and unknown paths.',
      { operation: [], status: [], code: [] },
    ),
    apiDuration: histogram('farewatch_api_request_duration_seconds', 'Duration of API requests.', {
      buckets: API_BUCKETS_S,
      labels: { operation: [] },
    }),
  }
}

const JOB_BUCKETS_S = [0.005, 0.01, 0.05, 0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 300]

export function queueMetrics({ counter, gauge, histogram }: Declare) {
  return {
    queueJobs: counter(
      'farewatch_queue_jobs_total',
      'Attempts at jobs that ended in this process: done, failed, or snoozed (because the upstream was paused).',
      { queue: [], outcome: [] },
    ),
    queueWait: histogram(
      'farewatch_queue_wait_seconds',
      'Time from the moment a job was due to the start of its first attempt.',
      { buckets: JOB_BUCKETS_S, labels: { queue: [] } },
    ),
    queueJobDuration: histogram(
      'farewatch_queue_job_duration_seconds',
      'Duration of an attempt at a job, whatever its outcome.',
      { buckets: JOB_BUCKETS_S, labels: { queue: [] } },
    ),
    queueStalled: counter(
      'farewatch_queue_stalled_total',
      'Jobs of a worker that died, found by this process and run again.',
      { queue: [] },
    ),
    queueLastActivity: gauge(
      'farewatch_queue_last_activity_timestamp_seconds',
      'When the worker of a queue in this process last polled or finished a job.',
      ['queue'],
    ),
    tickLastSuccess: gauge(
      'farewatch_tick_last_success_timestamp_seconds',
      'When a tick last succeeded in this process, or when its workers started. Query max by (tick).',
      ['tick'],
    ),
    tickInterval: gauge('farewatch_tick_interval_seconds', 'The interval of a tick.', ['tick']),
  }
}

/** Of the whole system. */
export function queueGauges({ gauge }: Declare) {
  return {
    queueDepth: gauge(
      'farewatch_queue_depth',
      'Jobs by state: waiting, active, delayed, or dead (out of attempts, kept thirty days for an operator).',
      ['queue', 'state'],
    ),
    processes: gauge(
      'farewatch_processes',
      'Processes that make progress, by what they do of the work: sync, check, deliver.',
      ['role'],
    ),
    paused: gauge('farewatch_paused', '1 while operators have paused the work, else 0.', ['what']),
  }
}

/** Of the whole system: the space of the stores. */
export function storeGauges({ gauge }: Declare) {
  return {
    gaugesRead: gauge(
      'farewatch_system_gauges_read_timestamp_seconds',
      'When this process last read the gauges of the whole system.',
    ),
    warnings: gauge(
      'farewatch_warnings',
      'Warnings of the status, by code and level: bad (an operator must act), warn. Absent where there is none.',
      ['code', 'level'],
    ),
    databaseSize: gauge('farewatch_db_size_bytes', 'Size of the database.'),
    partSize: gauge(
      'farewatch_db_part_size_bytes',
      'Size of the parts of the database, with their indexes.',
      ['part'],
    ),
    diskFullIn: gauge(
      'farewatch_db_disk_full_seconds',
      'Time until the disk of the database is full at the growth of the last 30 days.',
    ),
    diskFree: gauge(
      'farewatch_db_disk_free_bytes',
      'Free space of the disk of the database; absent if it cannot be seen.',
    ),
    diskSize: gauge('farewatch_db_disk_size_bytes', 'Size of the disk of the database.'),
    redisMemoryUsed: gauge(
      'farewatch_redis_memory_used_bytes',
      'Memory that Redis uses; absent if the queue is in PostgreSQL.',
    ),
    redisMemoryMax: gauge(
      'farewatch_redis_memory_max_bytes',
      'The limit of that memory (maxmemory); 0 without a limit.',
    ),
  }
}
