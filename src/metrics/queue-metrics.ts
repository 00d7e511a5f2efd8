import { Counter, Gauge, Histogram, type Registry } from 'prom-client'

const JOB_BUCKETS_S = [0.005, 0.01, 0.05, 0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 300]

export function queueMetrics(registers: Registry[]) {
  return {
    queueJobs: new Counter({
      name: 'farewatch_queue_jobs_total',
      help: 'Attempts at jobs that ended in this process: done, failed, or put_off (snoozed without an attempt, because the upstream was paused).',
      labelNames: ['queue', 'outcome'],
      registers,
    }),
    queueWait: new Histogram({
      name: 'farewatch_queue_wait_seconds',
      help: 'Time from the moment a job was due to the start of its first attempt.',
      labelNames: ['queue'],
      buckets: JOB_BUCKETS_S,
      registers,
    }),
    queueJobDuration: new Histogram({
      name: 'farewatch_queue_job_duration_seconds',
      help: 'Duration of an attempt at a job, whatever its outcome.',
      labelNames: ['queue'],
      buckets: JOB_BUCKETS_S,
      registers,
    }),
    queueStalled: new Counter({
      name: 'farewatch_queue_stalled_total',
      help: 'Jobs of a worker that died, found by this process and run again.',
      labelNames: ['queue'],
      registers,
    }),
    queueLastActivity: new Gauge({
      name: 'farewatch_queue_last_activity_timestamp_seconds',
      help: 'When the worker of a queue in this process last polled or finished a job.',
      labelNames: ['queue'],
      registers,
    }),
    tickLastSuccess: new Gauge({
      name: 'farewatch_tick_last_success_timestamp_seconds',
      help: 'When a tick last succeeded in this process; before that, when its workers started. Any process may run a tick: query max by (tick).',
      labelNames: ['tick'],
      registers,
    }),
    tickInterval: new Gauge({
      name: 'farewatch_tick_interval_seconds',
      help: 'The interval of a tick.',
      labelNames: ['tick'],
      registers,
    }),
  }
}

/** Of the whole system. */
export function queueGauges(registers: Registry[]) {
  return {
    queueDepth: new Gauge({
      name: 'farewatch_queue_depth',
      help: 'Jobs by state: waiting, active, delayed, or dead (out of attempts, kept thirty days for an operator). Ticks are never counted as dead: the next tick does their work.',
      labelNames: ['queue', 'state'],
      registers,
    }),
  }
}
